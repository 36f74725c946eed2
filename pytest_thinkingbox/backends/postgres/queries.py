"""The questions to the system catalogs."""

from __future__ import annotations

LOG_SCHEMA = "thinkingbox_log"

_OURS = f"nspname !~ '^pg_' AND nspname NOT IN ('information_schema', '{LOG_SCHEMA}')"

TABLES = f"""
SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text,
  (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
  (SELECT array_agg(a.attname::text ORDER BY k.place)
    FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a ON a.attnum = k.attnum
    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND k.place <= i.indnkeyatts),
  (SELECT array_agg(attname::text) FROM pg_attribute a LEFT JOIN pg_attrdef d
      ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
      AND (attidentity <> '' OR attgenerated <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')),
  (SELECT array_agg(relid::oid::int8) FROM pg_partition_tree(c.oid) WHERE isleaf)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND {_OURS}
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
ORDER BY n.nspname <> 'public', n.nspname, c.relname
"""

TYPES = f"""
SELECT t.oid::int8, t.typarray::int8, t.typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typarray <> 0 AND t.typtype IN ('e', 'd', 'r', 'b') AND {_OURS}
"""

_OTHER_CATALOGS = (
    "pg_am", "pg_cast", "pg_collation", "pg_conversion", "pg_event_trigger", "pg_foreign_data_wrapper",
    "pg_foreign_server", "pg_language", "pg_opclass", "pg_operator", "pg_opfamily", "pg_publication",
    "pg_statistic_ext", "pg_transform", "pg_ts_config", "pg_ts_dict", "pg_user_mapping",
)  # fmt: skip
"""Of these only whether they changed is of interest."""

OBJECTS = f"""
WITH ns AS (
  SELECT oid, nspname, CASE WHEN nspname = 'public' THEN '' ELSE nspname || '.' END AS prefix
  FROM pg_namespace WHERE {_OURS}
), extended AS (
  SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
)
SELECT 'schema', n.nspname, concat_ws(E'\\n', 'owner ' || pg_get_userbyid(n.nspowner), n.nspacl::text)
FROM pg_namespace n JOIN ns USING (oid)
UNION ALL
SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table'
    WHEN 'c' THEN 'type' ELSE 'table' END,
  ns.prefix || c.relname,
  concat_ws(E'\\n',
    (SELECT string_agg(concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attcollation <> 0 AND a.attcollation <> t.typcollation
          THEN 'COLLATE ' || a.attcollation::regcollation END,
        CASE WHEN a.attnotnull THEN 'NOT NULL' END,
        CASE a.attgenerated WHEN '' THEN 'DEFAULT ' ELSE 'GENERATED ' || a.attgenerated::text || ' ' END
          || pg_get_expr(d.adbin, d.adrelid),
        CASE WHEN a.attidentity <> '' THEN 'IDENTITY ' || a.attidentity::text END,
        a.attacl::text), E'\\n' ORDER BY a.attnum)
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
    CASE WHEN c.relkind = 'p' THEN 'PARTITION BY ' || pg_get_partkeydef(c.oid) END,
    pg_get_expr(c.relpartbound, c.oid),
    (SELECT 'INHERITS ' || string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno) FROM pg_inherits
      WHERE inhrelid = c.oid),
    'owner ' || pg_get_userbyid(c.relowner), c.relacl::text, c.reloptions::text,
    NULLIF(c.relpersistence::text, 'p'),
    CASE WHEN c.relrowsecurity THEN 'ROW SECURITY' END, CASE WHEN c.relforcerowsecurity THEN 'FORCE' END,
    (SELECT 'internal triggers ' || string_agg(tgenabled::text, '' ORDER BY oid) FROM pg_trigger
      WHERE tgrelid = c.oid AND tgisinternal AND tgenabled <> 'O'))
FROM pg_class c JOIN ns ON c.relnamespace = ns.oid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c')
  AND NOT EXISTS (SELECT FROM extended WHERE classid = 'pg_class'::regclass AND objid = c.oid)
UNION ALL
SELECT 'sequence', ns.prefix || c.relname,
  concat_ws(' ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
    'owner ' || pg_get_userbyid(c.relowner), c.relacl::text)
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN ns ON c.relnamespace = ns.oid
UNION ALL
SELECT 'index', ns.prefix || c.relname,
  pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisvalid THEN '' ELSE ' INVALID' END
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN ns ON c.relnamespace = ns.oid
UNION ALL
SELECT 'constraint', ns.prefix || coalesce(nullif(c.conrelid, 0)::regclass::text, c.contypid::regtype::text)
    || '.' || c.conname, pg_get_constraintdef(c.oid)
FROM pg_constraint c JOIN ns ON c.connamespace = ns.oid WHERE c.contype NOT IN ('t', 'n')
UNION ALL
SELECT 'trigger', ns.prefix || c.relname || '.' || t.tgname,
  pg_get_triggerdef(t.oid) || ' enabled ' || t.tgenabled::text
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN ns ON c.relnamespace = ns.oid WHERE NOT t.tgisinternal
UNION ALL
SELECT 'rule', ns.prefix || c.relname || '.' || r.rulename, pg_get_ruledef(r.oid) || r.ev_enabled::text
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN ns ON c.relnamespace = ns.oid
WHERE r.rulename <> '_RETURN'
UNION ALL
SELECT 'policy', ns.prefix || c.relname || '.' || p.polname,
  concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::text, pg_get_expr(p.polqual, p.polrelid),
    pg_get_expr(p.polwithcheck, p.polrelid))
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN ns ON c.relnamespace = ns.oid
UNION ALL
SELECT 'function', ns.prefix || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
  concat_ws(E'\\n', CASE WHEN p.prokind = 'a' THEN p.prosrc ELSE pg_get_functiondef(p.oid) END,
    'owner ' || pg_get_userbyid(p.proowner), p.proacl::text)
FROM pg_proc p JOIN ns ON p.pronamespace = ns.oid
WHERE NOT EXISTS (SELECT FROM extended WHERE classid = 'pg_proc'::regclass AND objid = p.oid)
UNION ALL
SELECT 'type', ns.prefix || t.typname,
  concat_ws(' ', t.typtype, CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) END,
    CASE WHEN t.typnotnull THEN 'NOT NULL' END, t.typdefault,
    (SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid),
    'owner ' || pg_get_userbyid(t.typowner), t.typacl::text)
FROM pg_type t JOIN ns ON t.typnamespace = ns.oid
WHERE t.typtype IN ('e', 'd', 'r')
  AND NOT EXISTS (SELECT FROM extended WHERE classid = 'pg_type'::regclass AND objid = t.oid)
UNION ALL
SELECT 'extension', extname, concat_ws(' ', extversion,
  (SELECT md5(string_agg(pg_describe_object(classid, objid, objsubid), ',' ORDER BY classid, objid)) FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND refobjid = e.oid AND deptype = 'e'))
FROM pg_extension e WHERE extname <> 'plpgsql'
UNION ALL
SELECT 'default privileges',
  concat_ws(' ', pg_get_userbyid(defaclrole), nullif(defaclnamespace, 0)::regnamespace, defaclobjtype), defaclacl::text
FROM pg_default_acl
UNION ALL
SELECT 'setting', 'of the database', setconfig::text
FROM pg_db_role_setting
WHERE setrole = 0 AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
UNION ALL
SELECT 'comment', concat_ws('.', ns.prefix || d.objoid::regclass, a.attname), d.description
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
JOIN ns ON c.relnamespace = ns.oid
LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0
UNION ALL
SELECT 'large object', m.oid::text,
  concat_ws(E'\\n', 'owner ' || pg_get_userbyid(m.lomowner), m.lomacl::text,
    (SELECT md5(string_agg(pageno || ':' || md5(data), ',' ORDER BY pageno)) FROM pg_largeobject WHERE loid = m.oid))
FROM pg_largeobject_metadata m
""" + "".join(
    f"""UNION ALL
SELECT 'catalog', '{name}', md5(string_agg(t::text, E'\\n' ORDER BY oid)) FROM {name} t WHERE oid >= 16384
"""
    for name in _OTHER_CATALOGS
)
