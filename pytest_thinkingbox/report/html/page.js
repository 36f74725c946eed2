"use strict";
// Shows what the file holds. Everything in it was written by others: text is set as text, never as markup, and no
// figure is computed here but how many tasks a filter leaves.
(() => {
  const $ = (id) => document.getElementById(id);
  const overview = $("overview"), attempt = $("attempt"), search = $("search"), keys = $("keys");
  const rows = [...document.querySelectorAll("tr.task")];
  const words = { p: "passed", f: "failed", i: "invalid" };
  const marks = { passed: ["p", "✓"], failed: ["f", "×"], invalid: ["i", "!"] };
  const home = document.title;
  let opened = null;

  // ---- elements

  function make(name, options, ...children) {
    const { cls, dir, ...attributes } = options || {};
    const element = document.createElement(name);
    if (cls) element.className = cls;
    if (dir) element.dir = "auto";
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
    return element;
  }

  const count = (number, noun) => `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;

  // ---- details: one block a task, and one of texts that several tasks share

  function decode(id) {
    const packed = atob($(id).textContent.trim());
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    return bytes;
  }

  // Every block goes on where one common start ends, which holds nothing but text to refer to.
  async function unpack(id) {
    const stream = new Blob([decode("start"), decode(id)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const whole = await new Response(stream).arrayBuffer();
    return JSON.parse(new TextDecoder().decode(new Uint8Array(whole, Number($("start").dataset.skip))));
  }

  const cache = new Map();
  function block(id) {
    if (!cache.has(id)) {
      if (cache.size > 40) cache.delete([...cache.keys()].find((one) => one !== "shared"));
      cache.set(id, unpack(id));
    }
    return cache.get(id);
  }

  class Reader {
    constructor(shared, texts) { this.shared = shared; this.texts = texts; }

    text(value) {
      if (value !== null && typeof value === "object") {
        if ("s" in value) return this.text(this.shared[value.s]);
        if ("t" in value) return this.text(this.texts[value.t]);
        const [head, left, tail] = value.cut;
        return [head, make("span", { cls: "cut" }, `${count(left, "character")} left out here`), tail];
      }
      return value;
    }

    length(value) {
      if (value !== null && typeof value === "object") {
        if ("s" in value) return this.length(this.shared[value.s]);
        if ("t" in value) return this.length(this.texts[value.t]);
        return value.cut[0].length + value.cut[1] + value.cut[2].length;
      }
      return value.length;
    }

    list(entries, show, name) {
      return entries.map((one) => (one !== null && typeof one === "object" && "left" in one)
        ? make(name, null, make("span", { cls: "cut" }, `${one.left.toLocaleString("en-US")} more left out here`))
        : show(one));
    }
  }

  // ---- one attempt

  function showTry(one, of, reader) {
    const { outcome } = one;
    const [state, mark] = marks[outcome];
    const head = make("div", { cls: "outcome" },
      make("span", { cls: "strip", "aria-hidden": "true" }, make("i", { cls: state }, mark)),
      make("h3", { cls: outcome }, outcome + (one.cause ? `, ${one.cause}` : "")),
      of > 1 ? make("span", { cls: "muted" }, `try ${one.number} of ${of}`) : null,
      one.final ? null : make("span", { cls: "muted" }, "played again"));
    const left = make("div", { cls: "half" });
    if (reader.length(one.verdict)) {
      left.append(section(outcome === "invalid" ? "Why it is invalid" : outcome === "failed" ? "Why it failed" : "Detail",
        make("pre", { cls: "text", dir: true }, reader.text(one.verdict))));
    }
    left.append(section("Changes", changes(one.changes, reader)));
    const [sinks, absent] = [one.effects.filter((it) => it.items !== null), one.effects.filter((it) => it.items === null)];
    for (const it of sinks) {
      left.append(section(it.title[0].toUpperCase() + it.title.slice(1),
        it.items.length ? reader.list(it.items, (item) => effect(item, reader), "div") : nothing("None.")));
    }
    if (absent.length) left.append(make("p", { cls: "muted small" }, `No sink for ${absent.map((it) => it.title).join(", ")}.`));
    if (one.rulings.length) {
      left.append(section("Judge", reader.list(one.rulings, (it) => effect(it, reader), "div")));
    }
    const right = make("div", { cls: "half" }, section("Conversation", talk(one, reader)));
    if (one.talk !== null && one.calls.length) {
      right.append(section("Tool calls", make("ul", { cls: "talk" }, reader.list(one.calls, (it) => call(it, reader), "li"))));
    }
    return make("section", { cls: "try", "aria-label": `Try ${one.number} of ${of}, ${outcome}` },
      head, facts(one.facts, reader), make("div", { cls: "halves" }, left, right));
  }

  const section = (title, ...content) => make("section", null, make("h4", null, title), content);
  const nothing = (text) => make("p", { cls: "muted" }, text);

  function talk(one, reader) {
    if (one.talk === null) {
      return make("p", { cls: "cut" }, "Left out of this file: attempts of this task before it ended alike. The records hold it.");
    }
    if (!one.talk.length) return nothing("Nothing was said.");
    return make("ol", { cls: "talk" }, reader.list(one.talk, (it) => {
      if ("call" in it) return call(it, reader);
      return make("li", { cls: it.who === "user" ? "user" : "" },
        make("span", { cls: "who", dir: true }, it.who, it.note ? ` (${it.note})` : ""),
        make("div", { cls: it.note ? "text thought" : "text", dir: true }, reader.text(it.text)));
    }, "li"));
  }

  function call(it, reader) {
    const named = reader.list(it.arguments, ([name, value]) => make("span", { cls: "argument", dir: true },
      reader.length(name) ? make("span", { cls: "key" }, reader.text(name), "=") : null, reader.text(value)), "span");
    const size = it.arguments.reduce((sum, one) => sum + (Array.isArray(one) ? reader.length(one[0]) + reader.length(one[1]) + 3 : 99), 0);
    const head = make("div", { cls: size > 60 ? "head long" : "head" }, make("bdi", { cls: "name" }, reader.text(it.call)), "(", named, ") ");
    const body = make("div", { cls: it.error ? "call error" : "call" }, head);
    if (!it.played) {
      head.append(make("span", { cls: "took" }, "said, not played"));
    } else {
      head.append(it.error ? make("span", { cls: "badge error" }, "error") : "", " ", make("span", { cls: "took" }, `${it.seconds} s`));
      if (reader.length(it.fault)) {
        head.append(" ", make("span", { cls: "badge fault" }, "fault"), " ", make("bdi", { cls: "took" }, reader.text(it.fault)));
      }
      const length = reader.length(it.result);
      const result = make("pre", { cls: "text result", dir: true, ...(length > 600 && { tabindex: "0" }) }, length ? reader.text(it.result) : "(empty)");
      body.append(length > 600 && !it.error
        ? make("details", null, make("summary", null, `Result, ${count(length, "character")}`), result) : result);
    }
    return make("li", null, make("span", { cls: "who" }, "tool call"), body);
  }

  function changes(all, reader) {
    if (all === null) return nothing("The state was not read.");
    if (!all.rows.length && !all.schema.length) return nothing("None.");
    const verbs = { insert: "inserted", update: "updated", delete: "deleted" };
    return [
      ...reader.list(all.schema, (it) => make("div", { cls: "change" },
        make("div", { cls: "head" }, make("span", { cls: "badge schema" }, "schema"), " ", make("bdi", null, reader.text(it.what))),
        it.before === null ? null : make("pre", { cls: "text before", dir: true }, reader.text(it.before)),
        it.after === null ? null : make("pre", { cls: "text after", dir: true }, reader.text(it.after))), "div"),
      ...reader.list(all.rows, (it) => make("div", { cls: "change" },
        make("div", { cls: "head" }, make("span", { cls: `badge ${it.kind}` }, verbs[it.kind]), " ",
          make("bdi", null, reader.text(it.table)), it.key === null ? null : [" ", make("bdi", null, reader.text(it.key))]),
        cells(it, reader)), "div"),
    ];
  }

  function cells(it, reader) {
    const shown = [["before", 1, it.kind !== "insert"], ["after", 2, it.kind !== "delete"]].filter(([, , there]) => there);
    const left = (one) => !Array.isArray(one);
    return make("table", null,
      make("thead", null, make("tr", null, make("th", { scope: "col" }, "column"),
        shown.map(([side]) => make("th", { scope: "col" }, side)))),
      make("tbody", null, it.cells.map((cell) => left(cell)
        ? make("tr", null, make("td", { colspan: 1 + shown.length }, make("span", { cls: "cut" }, `${count(cell.left, "column")} left out here`)))
        : make("tr", null, make("th", { scope: "row", dir: true }, reader.text(cell[0])),
          shown.map(([side, at]) => make("td", { cls: side, dir: true }, reader.text(cell[at])))))));
  }

  function effect(it, reader) {
    return make("div", { cls: "effect" }, facts(it.facts, reader),
      reader.length(it.text) ? make("pre", { cls: "text", dir: true }, reader.text(it.text)) : null);
  }

  function facts(pairs, reader) {
    return make("dl", { cls: "facts" }, reader.list(pairs, ([name, text]) =>
      make("div", null, make("dt", null, name), make("dd", { dir: true }, reader.text(text))), "div"));
  }

  // ---- which attempt

  const cellsOf = (row) => [...row.querySelectorAll(".strip a")];
  const numberOf = (cell) => Number(cell.hash.split(".")[1]);
  for (const row of rows) {
    for (const [at, cell] of row.querySelectorAll(".strip > *").entries()) {
      if (cell.localName === "a") cell.setAttribute("href", `#${row.id}.${at + 1}`);
    }
  }
  const nameOf = (row) => {
    const file = row.querySelector(".from").textContent, name = row.querySelector(".name").textContent;
    return file ? `${file}::${name}` : name;
  };

  // The attempt as pytest names its item.
  function itemName(row, number) {
    const name = nameOf(row);
    if (row.querySelectorAll(".strip > *").length === 1) return name;
    return name.endsWith("]") ? `${name.slice(0, -1)}-try${number}]` : `${name}[try${number}]`;
  }

  function find(fragment) {
    const place = /^t(\d+)\.(\d+)$/.exec(fragment);
    if (place) {
      const row = $(`t${place[1]}`);
      return row ? cellsOf(row).find((cell) => numberOf(cell) === Number(place[2])) || null : null;
    }
    if (!fragment) return null;
    for (const row of rows) {
      const name = nameOf(row);
      if (!name.includes(fragment.replace(/(\[try\d+\]|-try\d+\])$/, "").split("::").pop())) continue;
      for (const cell of cellsOf(row)) {
        const whole = itemName(row, numberOf(cell));
        if (whole === fragment || whole.endsWith(`::${fragment}`) || whole.endsWith(`/${fragment}`)) return cell;
      }
    }
    return null;
  }

  function fragment() {
    try { return decodeURIComponent(location.hash.slice(1)); } catch { return location.hash.slice(1); }
  }

  async function route() {
    const cell = find(fragment());
    if (cell === null) { back(); return; }
    const row = cell.closest("tr"), number = numberOf(cell), from = opened;
    opened = cell;
    overview.hidden = true;
    attempt.hidden = false;
    document.title = `${itemName(row, number)} - ${home}`;
    const place = make("div");
    attempt.replaceChildren(crumbs(cell), title(row, cell, number), place);
    if (from === null) window.scrollTo(0, 0);
    attempt.querySelector("h2").focus({ preventScroll: from !== null });
    try {
      const [shared, own] = await Promise.all([block("shared"), block(`d${row.id.slice(1)}`)]);
      if (opened !== cell) return;
      const found = own.attempts.find(([n]) => n === number);
      const reader = new Reader(shared, own.texts);
      const tries = found ? found[1] : [];
      // The try that decided comes first, what went before it below.
      place.replaceChildren(...tries.map((one) => showTry(one, tries.length, reader)).reverse());
      if (!tries.length) place.append(nothing("This file holds no details of this attempt."));
    } catch (error) {
      if (opened === cell) place.replaceChildren(make("p", { cls: "notice" }, `The details cannot be read: ${error}`));
    }
  }

  function back() {
    const was = opened;
    opened = null;
    document.title = home;
    attempt.hidden = true;
    attempt.replaceChildren();
    overview.hidden = false;
    if (was !== null) {
      stop(was);
      was.focus({ preventScroll: true });
      was.scrollIntoView({ block: "center" });
    } else if (location.hash) {
      $(location.hash.slice(1))?.focus();
    }
  }

  function crumbs(cell) {
    const button = (text, target) => target
      ? make("a", { cls: "button", href: target === "#" ? "#tasks" : target.getAttribute("href") }, text)
      : make("a", { cls: "button", "aria-disabled": "true" }, text);
    const home = button("Overview", "#");
    home.addEventListener("click", leave);
    return make("nav", { cls: "crumbs", "aria-label": "Attempts" }, home,
      button("← Previous", beside(cell, -1)), button("Next →", beside(cell, 1)),
      button("Previous not passed", notPassed(cell, -1)), button("Next not passed", notPassed(cell, 1)),
      make("span", { cls: "where muted small" }, "Keys: ", make("kbd", null, "?")));
  }

  function title(row, cell, number) {
    const strip = row.querySelector(".strip").cloneNode(true);
    for (const one of strip.querySelectorAll("a")) {
      one.tabIndex = 0;
      if (one.hash === cell.hash) one.setAttribute("aria-current", "true");
    }
    const of = row.querySelectorAll(".strip > *").length;
    return make("div", { cls: "title" },
      make("h2", { tabindex: "-1" }, make("bdi", null, row.querySelector(".name").textContent), ` attempt ${number} of ${of}`),
      make("code", { cls: "id", dir: true }, itemName(row, number)), strip);
  }

  const visible = () => rows.filter((row) => !row.hidden).sort((a, b) =>
    a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);

  function beside(cell, step) {
    const all = cellsOf(cell.closest("tr"));
    return all[all.indexOf(cell) + step] || null;
  }

  function notPassed(cell, step) {
    const all = visible().flatMap(cellsOf).filter((one) => one === cell || !one.classList.contains("p"));
    return all[all.indexOf(cell) + step] || null;
  }

  const go = (cell) => { if (cell) location.hash = cell.getAttribute("href"); };

  function leave(event) {
    event?.preventDefault();
    history.pushState(null, "", location.pathname + location.search + "#tasks");
    back();
  }

  // ---- strips: one stop for the Tab key a task, arrows inside

  function stop(cell) {
    for (const one of cellsOf(cell.closest("tr"))) one.tabIndex = one === cell ? 0 : -1;
  }

  for (const row of rows) {
    for (const [at, cell] of cellsOf(row).entries()) {
      cell.tabIndex = at ? -1 : 0;
      cell.setAttribute("aria-label", `attempt ${numberOf(cell)} ${words[cell.className]}`);
      cell.title = `attempt ${numberOf(cell)}: ${words[cell.className]}`;
    }
  }

  function inStrip(event, cell) {
    const all = cellsOf(cell.closest("tr")), at = all.indexOf(cell);
    const lines = visible(), line = lines.indexOf(cell.closest("tr"));
    const other = (row) => row && (cellsOf(row)[Math.min(at, cellsOf(row).length - 1)] || null);
    const target = {
      ArrowLeft: all[at - 1], ArrowRight: all[at + 1], Home: all[0], End: all[all.length - 1],
      ArrowUp: other(lines[line - 1]), ArrowDown: other(lines[line + 1]),
    }[event.key];
    if (!target) return;
    event.preventDefault();
    stop(target);
    target.focus();
  }

  // ---- filter, search, order

  const bodies = [...document.querySelectorAll("table.tasks:not(.sorted) tbody")];
  const table = document.querySelector("table.tasks");
  const counted = rows.filter((row) => table && table.contains(row));
  const places = new Map(counted.map((row) => [row, row.parentElement]));
  const sorted = make("tbody", { role: "rowgroup" });
  const haystack = new Map(counted.map((row) => [row, row.querySelector("th").textContent.toLowerCase()]));

  function filter() {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcome = $("outcome").value, tag = $("tag")?.value || "", cause = $("cause")?.value || "";
    let shown = 0;
    for (const row of counted) {
      row.hidden = !(terms.every((term) => haystack.get(row).includes(term))
        && (!outcome || row.dataset.is.split(" ").includes(outcome))
        && (!tag || row.dataset.tags.split(" ").includes(tag))
        && (!cause || (row.dataset.causes || "").split(" ").includes(cause)));
      shown += !row.hidden;
    }
    for (const body of bodies) {
      const head = body.querySelector(".file");
      if (head) head.hidden = ![...body.querySelectorAll(".task")].some((row) => !row.hidden);
    }
    $("shown").textContent = `filter shows ${shown} of ${count(counted.length, "task")}`;
    $("nothing").hidden = shown > 0 || !counted.length;
  }

  function clear() {
    search.value = "";
    for (const id of ["outcome", "tag", "cause"]) if ($(id)) $(id).value = "";
  }

  function order() {
    const wanted = $("order").value;
    table.classList.toggle("sorted", Boolean(wanted));
    if (!wanted) {
      for (const [row, body] of places) body.append(row);
      sorted.remove();
      return;
    }
    const sign = wanted === "low" ? 1 : -1;
    sorted.append(...[...counted].sort((a, b) => sign * (a.dataset.rate - b.dataset.rate)));
    table.append(sorted);
  }

  if (table) {
    document.querySelector(".tools").hidden = false;
    search.addEventListener("input", filter);
    for (const id of ["outcome", "tag", "cause"]) $(id)?.addEventListener("change", filter);
    for (const link of document.querySelectorAll(".those")) {
      link.href = "#tasks";
      link.addEventListener("click", () => { clear(); $("cause").value = link.dataset.cause; filter(); });
    }
    $("order").addEventListener("change", order);
    $("reset").addEventListener("click", () => {
      clear();
      filter();
      search.focus();
    });
    // A browser that goes back may have kept what was typed.
    filter();
    order();
  }

  // ---- keys

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape") {
      if (opened) leave(event);
      else if (typing === search) { search.value = ""; filter(); }
      return;
    }
    if (typing) return;
    if (event.key === "?") { keys.showModal(); return; }
    if (event.key === "/") {
      event.preventDefault();
      if (opened) leave();
      search.focus();
      search.select();
      return;
    }
    if (opened) {
      const moves = { ArrowLeft: () => beside(opened, -1), ArrowRight: () => beside(opened, 1), p: () => notPassed(opened, -1), n: () => notPassed(opened, 1) };
      if (event.key in moves) { event.preventDefault(); go(moves[event.key]()); }
      return;
    }
    const cell = event.target.closest?.(".strip a");
    if (cell) inStrip(event, cell);
  });
  $("close-keys").addEventListener("click", () => keys.close());

  // Paper has no way to open what is closed.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of closed) one.open = false; });

  window.addEventListener("hashchange", route);
  route();
})();
