/* Validity: every answer of every release lies in the page, folded: values of an axis that are
   answered alike share a class. All numbers here are counted from them, none is estimated. */
const rgb = (text) => text.match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16));
const luminance = (colour) => {
  const [r, g, b] = colour.map((c) => { const s = c / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const mixed = (from, to, share) => from.map((c, i) => Math.round(c + (to[i] - c) * share));
/* Of a cell: no share, all of it accepted, all of it lost. */
const PALETTES = { light: ["f1f3f5", "0b4f8a", "b34700"].map(rgb), dark: ["22272e", "8cc4f8", "ffa873"].map(rgb) };
/* A name that may be broken behind its underscores. */
const broken = (name) => name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);
const percent = (part, all) => {
  if (!all) return "–";
  if (part === 0) return "none";
  if (part === all) return "all";
  const share = (100 * part) / all;
  return share < 1 ? "<1%" : share > 99 ? ">99%" : `${Math.round(share)}%`;
};

const explore = (root, cubes) => {
  const NONE = "failed";
  const nameOf = (fold, code) => fold.statuses[code] ?? NONE;
  const strides = (fold) => {
    const sizes = fold.classes.map((of) => Math.max(...of) + 1);
    const found = new Array(sizes.length);
    let step = 1;
    for (let i = sizes.length - 1; i >= 0; i -= 1) { found[i] = step; step *= sizes[i]; }
    return found;
  };
  /* Two folds over one grid: classes that neither side tells apart, and both sides' places. */
  const joined = (a, b) => a.classes.map((own, axis) => {
    const numbers = new Map(), pairs = [];
    const of = own.map((ca, value) => {
      const cb = b.classes[axis][value], key = `${ca} ${cb}`;
      if (!numbers.has(key)) { numbers.set(key, pairs.length); pairs.push([ca, cb]); }
      return numbers.get(key);
    });
    return { of, pairs };
  });
  /* What stands in each combination of classes of two axes, over the chosen values of the rest. */
  const tally = (a, b, axes, chosen, r, c) => {
    const [sa, sb] = [strides(a), strides(b)];
    const weights = axes.map(({ of, pairs }, axis) => {
      const found = new Array(pairs.length).fill(0);
      for (const value of chosen[axis]) found[of[value]] += 1;
      return found.map((n) => (n && (axis === r || axis === c) ? 1 : n));
    });
    const cells = axes[r].pairs.map(() => axes[c].pairs.map(() => ({ n: 0, a: 0, b: 0, gained: 0, lost: 0, steps: new Map() })));
    const walk = (axis, weight, pa, pb, jr, jc) => {
      if (axis === axes.length) {
        const [from, to] = [nameOf(a, a.cells[pa]), nameOf(b, b.cells[pb])];
        const cell = cells[jr][jc];
        cell.n += weight;
        if (from === "SUCCESS") { cell.a += weight; if (to !== "SUCCESS") cell.lost += weight; }
        if (to === "SUCCESS") { cell.b += weight; if (from !== "SUCCESS") cell.gained += weight; }
        const step = from === to ? from : `${from} → ${to}`;
        cell.steps.set(step, (cell.steps.get(step) || 0) + weight);
        return;
      }
      axes[axis].pairs.forEach(([ca, cb], j) => {
        if (weights[axis][j]) walk(axis + 1, weight * weights[axis][j], pa + ca * sa[axis], pb + cb * sb[axis], axis === r ? j : jr, axis === c ? j : jc);
      });
    };
    walk(0, 1, 0, 0, 0, 0);
    return cells;
  };
  const everything = (cube) => cube.axes.map(([, labels]) => labels.map((_, i) => i));
  /* The two axes between whose values most differs: what changed, or else what is accepted. */
  const telling = (cube, a, b) => {
    const axes = joined(a, b), chosen = everything(cube);
    const wide = cube.axes.map((_, i) => i).filter((i) => cube.axes[i][1].length > 1);
    let best = [-1, 0, Math.min(1, cube.axes.length - 1)];
    wide.forEach((r, at) => wide.slice(at + 1).forEach((c) => {
      const cells = tally(a, b, axes, chosen, r, c);
      const shares = (of) => cube.axes[r][1].flatMap((_, x) => cube.axes[c][1].map((_, y) => of(cells[axes[r].of[x]][axes[c].of[y]])));
      const spread = (all) => { const mean = all.reduce((s, v) => s + v, 0) / all.length; return all.reduce((s, v) => s + (v - mean) ** 2, 0) / all.length; };
      const changed = spread(shares((cell) => (cell.gained + cell.lost) / cell.n));
      const score = changed * 1e6 + spread(shares((cell) => cell.b / cell.n)) * 1e-3;
      if (score > best[0]) best = [score, r, c];
    }));
    return cube.axes[best[1]][1].length <= cube.axes[best[2]][1].length || cube.axes[best[2]][1].length > 10 ? [best[2], best[1]] : [best[1], best[2]];
  };

  const state = { cube: 0, old: 0, now: 0, rows: 0, columns: 1, chosen: [] };
  const pick = (label, options, value, change) => {
    const id = `pick-${label.toLowerCase()}`;
    const select = make("select", { id, onchange: () => { change(Number(select.value)); } });
    options.forEach(([text, at]) => select.append(make("option", { value: at, selected: at === value }, text)));
    return make("div", {}, make("label", { for: id }, label), select);
  };
  const [picks, filters, totals, maps, detail] = [make("div", { class: "picks" }), make("div", { class: "filters", role: "group", "aria-label": "Filters" }), make("p", { class: "totals", "aria-live": "polite" }), make("div", { class: "maps" }), make("p", { class: "detail" })];
  root.append(make("h3", {}, "What is accepted, by any two axes"), picks, filters, totals, maps, detail);
  root.hidden = false;

  const sideNames = () => { const { releases } = cubes[state.cube]; return [releases[state.old][0], releases[state.now][0]]; };
  const folds = () => { const cube = cubes[state.cube]; return [cube.folds[cube.releases[state.old][1]], cube.folds[cube.releases[state.now][1]]]; };
  const drawPicks = () => {
    const cube = cubes[state.cube], { axes, releases } = cube;
    const wide = axes.map(([name, labels], i) => [name, i, labels.length]).filter(([, i, n]) => n > 1 || i === state.rows || i === state.columns);
    const names = releases.map(([name], i) => [name, i]);
    picks.replaceChildren(
      pick("Call", cubes.map((of, i) => [cubes.filter((other) => other.call === of.call).length > 1 ? `${of.call} (${count(of.axes.reduce((n, [, l]) => n * l.length, 1))} problems)` : of.call, i]), state.cube, (to) => { choose(to); }),
      ...(releases.length > 1 ? [pick("Old", names, state.old, (to) => { state.old = to; draw(); }), pick("New", names, state.now, (to) => { state.now = to; draw(); })] : []),
      pick("Rows", wide, state.rows, (to) => { if (to === state.columns) state.columns = state.rows; state.rows = to; drawPicks(); draw(); }),
      pick("Columns", wide, state.columns, (to) => { if (to === state.rows) state.rows = state.columns; state.columns = to; drawPicks(); draw(); }),
    );
  };
  const drawFilters = () => {
    const { axes } = cubes[state.cube];
    const parts = axes.flatMap(([name, labels], axis) => {
      if (labels.length < 2) return [];
      const summary = make("summary"), box = make("details", {}, summary);
      const head = () => {
        const n = state.chosen[axis].length;
        summary.textContent = n === labels.length ? `${name}: all ${n}` : `${name}: ${n === 1 ? labels[state.chosen[axis][0]] : `${n} of ${labels.length}`}`;
        box.classList.toggle("narrowed", n < labels.length);
      };
      const boxes = labels.map((label, value) => make("input", { type: "checkbox", checked: state.chosen[axis].includes(value), onchange: () => { took(); } }));
      const took = () => { state.chosen[axis] = labels.map((_, i) => i).filter((i) => boxes[i].checked); head(); draw(); };
      const all = (on) => make("button", { type: "button", class: "quiet copy", "aria-label": `${on ? "All" : "No"} values of ${name}`, onclick: () => { boxes.forEach((b) => { b.checked = on; }); took(); } }, on ? "All" : "None");
      box.append(make("fieldset", {}, make("legend", { class: "unseen" }, `Values of ${name}`), all(true), " ", all(false), ...labels.map((label, value) => make("label", {}, boxes[value], ` ${label}`))));
      head();
      return [box];
    });
    filters.replaceChildren(...parts, make("button", { type: "button", class: "quiet copy", onclick: () => { state.chosen = everything(cubes[state.cube]); drawFilters(); draw(); } }, "Reset filters"));
  };
  const describe = (cell, where) => {
    const [old, now] = sideNames();
    const steps = [...cell.steps].sort((x, y) => y[1] - x[1]).map(([step, n]) => `${step} ${count(n)}`).join("; ");
    const both = old === now ? `${count(cell.b)} accepted` : `${old} accepts ${count(cell.a)}, ${now} ${count(cell.b)}`;
    detail.classList.remove("hint");
    detail.textContent = `${where}: of ${count(cell.n)} problems ${both}. ${steps}.`;
  };
  const panel = (title, look, cells, axes) => {
    const cube = cubes[state.cube], [rows, columns] = [cube.axes[state.rows], cube.axes[state.columns]];
    const body = make("tbody"), grid = [];
    for (const x of state.chosen[state.rows]) {
      const line = [];
      for (const y of state.chosen[state.columns]) {
        const cell = cells[axes[state.rows].of[x]][axes[state.columns].of[y]];
        const { text, share, down, long } = look(cell);
        const where = `${rows[0]}=${rows[1][x]}, ${columns[0]}=${columns[1][y]}`;
        const button = make("button", { type: "button", class: "cell", tabindex: "-1", "aria-label": `${where}: ${long}` }, text);
        for (const [theme, [zero, gain, loss]] of Object.entries(PALETTES)) {  /* paper is light */
          const fill = mixed(zero, down ? loss : gain, share);
          button.style.setProperty(`--${theme}-fill`, `rgb(${fill.join(" ")})`);
          button.style.setProperty(`--${theme}-ink`, luminance(fill) > 0.179 ? "#000" : "#fff");
        }
        button.addEventListener("focus", () => { describe(cell, where); });
        button.addEventListener("click", () => { describe(cell, where); });
        line.push(button);
      }
      grid.push(line);
      body.append(make("tr", {}, make("th", { scope: "row" }, rows[1][x]), ...line.map((button) => make("td", {}, button))));
    }
    if (grid.length && grid[0].length) grid[0][0].tabIndex = 0;
    body.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const y = grid.findIndex((line) => line.includes(event.target));
      if (!move || y < 0) return;
      const x = grid[y].indexOf(event.target), next = grid[y + move[0]]?.[x + move[1]];
      event.preventDefault();
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ...broken(rows[0]), " \\ ", ...broken(columns[0])), ...state.chosen[state.columns].map((y) => make("th", { scope: "col" }, ...broken(columns[1][y])))));
    return make("div", {}, make("h4", {}, title), make("div", { class: "scroll" }, make("table", {}, make("caption", { class: "unseen" }, `${title}: ${rows[0]} by ${columns[0]}; arrow keys move`), head, body)));
  };
  const draw = () => {
    const [a, b] = folds(), [old, now] = sideNames(), axes = joined(a, b);
    if (state.chosen.some((values) => !values.length)) {
      totals.textContent = "No problem: an axis has no value chosen.";
      maps.replaceChildren();
      detail.textContent = "";
      return;
    }
    const cells = tally(a, b, axes, state.chosen, state.rows, state.columns);
    const sum = { n: 0, a: 0, b: 0, gained: 0, lost: 0 };
    for (const x of state.chosen[state.rows]) for (const y of state.chosen[state.columns]) {
      const cell = cells[axes[state.rows].of[x]][axes[state.columns].of[y]];
      for (const name of Object.keys(sum)) sum[name] += cell[name];
    }
    const one = old === now;
    maps.style.setProperty("--columns", state.chosen[state.columns].length);
    totals.textContent = `${count(sum.n)} problems under these filters: ` + (one ? `${count(sum.b)} accepted (${percent(sum.b, sum.n)}).`
      : `${old} accepts ${count(sum.a)} (${percent(sum.a, sum.n)}), ${now} ${count(sum.b)} (${percent(sum.b, sum.n)}); ▲ newly accepted ${count(sum.gained)}, ▼ no longer accepted ${count(sum.lost)}.`);
    const share = (of) => (cell) => ({ text: percent(cell[of], cell.n), share: cell[of] / cell.n, long: `${count(cell[of])} of ${count(cell.n)} accepted` });
    const difference = (cell) => {
      const parts = [cell.gained ? `▲ ${percent(cell.gained, cell.n)}` : "", cell.lost ? `▼ ${percent(cell.lost, cell.n)}` : ""].filter(Boolean);
      const most = Math.max(cell.gained, cell.lost) / cell.n;
      return { text: parts.join(" ") || "=", share: most ? Math.max(0.25, most) : 0, down: cell.lost > cell.gained, long: `${count(cell.gained)} newly accepted, ${count(cell.lost)} no longer accepted, of ${count(cell.n)}` };
    };
    maps.replaceChildren(...(one ? [panel(now, share("b"), cells, axes)] : [panel(`Old: ${old}`, share("a"), cells, axes), panel(`New: ${now}`, share("b"), cells, axes), panel("Difference", difference, cells, axes)]));
    detail.classList.add("hint");
    detail.textContent = "Choose a cell to read its counts and statuses.";
  };
  const choose = (to) => {
    const { releases } = cubes[to];
    Object.assign(state, { cube: to, old: 0, now: releases.length - 1, chosen: everything(cubes[to]) });
    [state.rows, state.columns] = telling(cubes[to], ...folds());
    drawPicks();
    drawFilters();
    draw();
  };
  choose(0);
};
if (DATA.cubes.length) explore(byId("explorer"), DATA.cubes);
onTheme();
