"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
};
const count = (n) => n.toLocaleString("en-US");
const say = (text) => { byId("said").textContent = text; };

/* Theme: the system's, or what was chosen here. Others ask to be told. */
const themed = [];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
const onTheme = () => {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  for (const told of themed) told();
};
byId("theme").addEventListener("click", () => {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("pyharness-theme", next); } catch (error) { /* no storage: this page alone */ }
  onTheme();
});
systemDark.addEventListener("change", onTheme);

/* Paper shows what is folded away here. */
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll(".commands:not([open]), .gate:not([open])")];
  for (const each of folded) each.open = true;
});
addEventListener("afterprint", () => { for (const each of folded) each.open = false; });

/* Copy buttons. */
const copied = async (text) => {
  try { await navigator.clipboard.writeText(text); } catch (error) {
    const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`Copied: ${text}`);
};
const copyButton = (text, label) => {
  const button = make("button", { type: "button", class: "quiet copy", title: text, "aria-label": `Copy ${label}: ${text}` }, "Copy");
  button.addEventListener("click", () => { copied(text); button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); });
  return button;
};
for (const item of document.querySelectorAll(".command")) item.append(copyButton(item.textContent, "command"));

/* Tables: sorted by a column, searched, and shown a page at a time. */
const PAGE = DATA.page;
const textOf = (cell) => (Array.isArray(cell) ? cell[0] : cell);
const cellNode = (cell, { kind, look }) => {
  const node = make("td", { class: look });
  if (kind === "word" && cell[0]) {
    node.append(make("span", { class: `word ${cell[1]}` }, make("span", { "aria-hidden": "true" }, DATA.symbols[cell[1]]), ` ${cell[0]}`));
  } else if (kind === "code" && cell) node.append(make("code", {}, cell));
  else node.textContent = textOf(cell);
  return node;
};
const compared = (kind, at) => (a, b) => {
  const [x, y] = [a[at], b[at]];
  if (kind !== "number") return textOf(x).localeCompare(textOf(y), "en", { numeric: true });
  return x[1] - y[1];
};
const empty = (kind, cell) => (kind === "number" ? cell[1] === null : textOf(cell) === "");
const prepare = (box) => {
  const table = DATA.tables[box.dataset.table];
  const { columns, rows, repeat } = table;
  const [body, heads] = [box.querySelector("tbody"), [...box.querySelectorAll("thead th")]];
  const range = box.querySelector(".range");
  let order = rows.map((_, i) => i), shown = order, page = 0, sorted = -1, rising = true;
  const draw = () => {
    const part = shown.slice(page * PAGE, (page + 1) * PAGE);
    body.replaceChildren(...part.map((i) => {
      const line = make("tr", {}, ...rows[i].map((cell, c) => cellNode(cell, columns[c])));
      if (repeat) line.append(make("td", { class: "repeat" }, ...(repeat[i] ? [copyButton(repeat[i], "the command that repeats this line")] : [])));
      return line;
    }));
    const first = shown.length ? page * PAGE + 1 : 0;
    const of = shown.length === rows.length ? "" : ` (of ${count(rows.length)})`;
    range.textContent = rows.length > PAGE || of ? `${count(first)} to ${count(first + part.length - (first ? 1 : 0))} of ${count(shown.length)} rows${of}` : "";
    for (const [button, off] of pagers) button.disabled = off();
  };
  const last = () => Math.max(0, Math.ceil(shown.length / PAGE) - 1);
  const pager = (label, to, off) => [make("button", { type: "button", class: "quiet", onclick: () => { page = to(); draw(); say(range.textContent); } }, label), off];
  const pagers = rows.length > PAGE ? [
    pager("First", () => 0, () => page === 0), pager("Previous", () => page - 1, () => page === 0),
    pager("Next", () => page + 1, () => page >= last()), pager("Last", last, () => page >= last()),
  ] : [];
  if (pagers.length) {
    const find = make("input", { type: "search", autocomplete: "off" });
    find.addEventListener("input", () => {
      const wanted = find.value.toLowerCase();
      shown = wanted ? order.filter((i) => rows[i].some((cell) => textOf(cell).toLowerCase().includes(wanted))) : order;
      page = 0;
      draw();
      say(`${count(shown.length)} rows`);
    });
    box.querySelector(".scroll").before(make("div", { class: "tools" }, make("label", {}, "Find ", find), ...pagers.map(([button]) => button)));
    box.resort = () => find.dispatchEvent(new Event("input"));
  }
  heads.forEach((head, at) => {
    if (at >= columns.length || rows.length < 2) return;
    const { kind } = columns[at];
    const button = make("button", { type: "button" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      rising = sorted === at ? !rising : kind !== "number";
      sorted = at;
      const by = compared(kind, at);
      const [there, gone] = [[], []];
      for (let i = 0; i < rows.length; i += 1) (empty(kind, rows[i][at]) ? gone : there).push(i);
      there.sort((a, b) => (rising ? 1 : -1) * by(rows[a], rows[b]) || a - b);
      order = [...there, ...gone];
      heads.forEach((h, i) => { if (i === at) h.setAttribute("aria-sort", rising ? "ascending" : "descending"); else h.removeAttribute("aria-sort"); });
      shown = order;
      page = 0;
      if (box.resort) box.resort(); else draw();
      say(`Sorted by ${button.textContent}, ${rising ? "ascending" : "descending"}`);
    });
  });
  draw();
};
for (const box of document.querySelectorAll("[data-table]")) prepare(box);

/* Charts: drawn one after the other when the page has nothing else to do; each once a theme, so
   that a print, which is light, finds its own. */
const charts = [...document.querySelectorAll(".chart")];
const drawChart = async (box) => {
  const { shared, light, dark } = DATA.charts[box.dataset.chart];
  const options = { mode: "vega", renderer: "svg", actions: false, defaultStyle: false, ast: false, logLevel: 1 };
  for (const [theme, own] of [["light", light], ["dark", dark]]) {
    const place = make("div", { class: theme });
    box.append(place);
    await vegaEmbed(place, { ...shared, ...own }, { ...options, tooltip: { theme } });
    const svg = place.querySelector("svg");  /* a bit too wide: made smaller, not scrolled */
    if (svg) svg.style.setProperty("--least", `${Math.ceil(svg.viewBox.baseVal.width / 1.35)}px`);
  }
};
const notDrawn = (box, error) => {
  box.replaceChildren(make("p", { class: "note" }, `Not drawn: ${error.message}`));
  box.setAttribute("aria-label", `Not drawn: ${error.message}`);
};
const soon = window.requestIdleCallback ?? setTimeout;
const drawNext = () => {
  const box = charts.shift();
  if (!box) document.documentElement.dataset.drawn = "all";
  else drawChart(box).catch((error) => { notDrawn(box, error); }).finally(() => { soon(drawNext); });
};
soon(drawNext);
