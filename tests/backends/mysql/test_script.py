"""Files of SQL, taken apart and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql.script import statements
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.errors import ConfigurationError


def of(script: str) -> list[tuple[int, str]]:
    return [(one.line, one.text) for one in statements(script)]


def test_strings_names_and_comments_hide_a_delimiter() -> None:
    assert of("""-- a; b
INSERT INTO t VALUES ('a;b', "c;d", 'it''s;', 'x\\';y');  # e; f
SELECT `a;b` /* ; */ FROM t
;
--
SELECT 5--1; SELECT 2""") == [
        (2, """INSERT INTO t VALUES ('a;b', "c;d", 'it''s;', 'x\\';y')"""),
        (3, "SELECT `a;b` /* ; */ FROM t"),
        (6, "SELECT 5--1"),
        (6, "SELECT 2"),
    ]


def test_a_comment_for_the_server_is_a_statement() -> None:
    assert of("/*!40101 SET NAMES utf8mb4 */;\n/* nothing; */\n/*M!100616 SET @x = 1 */;") == [
        (1, "/*!40101 SET NAMES utf8mb4 */"),
        (3, "/*M!100616 SET @x = 1 */"),
    ]


def test_delimiter_is_obeyed() -> None:
    assert of("DELIMITER ;;\nBEGIN a; b; END ;;\nDELIMITER ;\nSELECT 1;\n") == [
        (2, "BEGIN a; b; END"),
        (4, "SELECT 1"),
    ]


def test_nothing_is_no_statement() -> None:
    assert of(" ;;\n-- nothing") == []


DUMP = """-- MariaDB dump 10.19
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
DROP TABLE IF EXISTS `children`;
CREATE TABLE `children` (`id` int NOT NULL, `of_` int, PRIMARY KEY (`id`),
  CONSTRAINT `c` FOREIGN KEY (`of_`) REFERENCES `parents` (`id`)) ENGINE=InnoDB;
LOCK TABLES `children` WRITE;
INSERT INTO `children` VALUES (1,1),(2,NULL);
UNLOCK TABLES;
CREATE TABLE `parents` (`id` int NOT NULL, `what` varchar(20), PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `parents` VALUES (1,'it\\'s; %s');
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`nobody`@`nowhere`*/ /*!50003 TRIGGER told BEFORE INSERT ON parents
FOR EACH ROW BEGIN SET NEW.what = 'told'; END */;;
DELIMITER ;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
-- Dump completed on 2026-01-01  0:00:00
"""


def loaded(backend: MySQLBackend, path: Path, text: str, **database: Any) -> dict[str, list[dict[str, Any]]]:
    path.write_text(text, encoding="utf-8")
    environment = Environment(name="file", database=Database(schema=path, **database), servers=[])
    lease = backend.acquire(environment, None, attempt_id="a")
    try:
        lease.cut()
        return {name: lease.rows(name, {}) for name in lease.rules.tables}
    finally:
        lease.release()


def test_a_dump_is_loaded(shared: MySQLBackend, tmp_path: Path) -> None:
    assert loaded(shared, tmp_path / "dump.sql", DUMP) == {
        "children": [{"id": 1, "of_": 1}, {"id": 2, "of_": None}],
        "parents": [{"id": 1, "what": "it's; %s"}],
    }


def test_what_a_dump_says_of_the_history_of_its_server_is_passed_over(
    shared: MySQLBackend, tmp_path: Path
) -> None:
    text = """SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5';
CREATE TABLE t (a INT);
INSERT INTO t VALUES (1);
SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;
"""
    assert loaded(shared, tmp_path / "dump.sql", text) == {"t": [{"a": 1}]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO nowhere VALUES (1);", "line 3: .*nowhere"),
        ("CREATE TABLE t (a INT);\n\nSELEC 1;", "line 3: You have an error in your SQL syntax"),
        ("CREATE TABLE t (a INT);\nUSE mysql;", "line 2: it would leave the database"),
        ("CREATE TABLE t (a INT);\n/*!40000 DROP DATABASE IF EXISTS `mine`*/;", "line 2: it would leave"),
        ("CREATE TABLE t (a INT);\nBEGIN;\nINSERT INTO t VALUES (1);", "its last transaction is never committed"),
        (DUMP.replace("VALUES (1,1)", "VALUES (1,7)"), "loads only in part: 1 rows of children have no row in parents"),
        ("SELECT 1;", "its schema makes no table"),
        (
            "CREATE TABLE t (a INT);\nCREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1;",
            "the event e would change databases",
        ),
    ],
)  # fmt: skip
def test_what_loads_only_in_part_is_a_configuration_error(
    shared: MySQLBackend, tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        loaded(shared, tmp_path / "dump.sql", text)
