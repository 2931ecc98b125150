"use strict";
(() => {
  const all = JSON.parse(document.getElementById("answers").textContent);
  const $ = (id) => document.getElementById(id);
  const count = (n) => n.toLocaleString("en-US");
  const chosen = {}; // axis -> place of the one value, for the call that is shown
  let call = all.calls[0];

  const names = () => Object.keys(call.labels);
  const weights = (answer, axis, at) => {
    const found = new Array(Math.max(...answer.classes[at]) + 1).fill(0);
    answer.classes[at].forEach((c, place) => {
      if (!(axis in chosen) || chosen[axis] === place) found[c] += 1;
    });
    return found;
  };
  const name = (answer, letter) => answer.statuses[letter] || "failed";

  // Problems by status of one answer, among those that are chosen.
  function statuses(answer) {
    const of = names().map((axis, at) => weights(answer, axis, at));
    const found = {};
    (function walk(at, cell, times) {
      if (times === 0) return;
      if (at === of.length) {
        const status = name(answer, answer.cells[cell]);
        found[status] = (found[status] || 0) + times;
        return;
      }
      of[at].forEach((n, c) => walk(at + 1, cell * of[at].length + c, times * n));
    })(0, 0, 1);
    return found;
  }

  // Problems whose status differs between two answers: "before>after" to how many.
  function changes(a, b) {
    const of = names().map((axis, at) => {
      const pairs = new Map();
      a.classes[at].forEach((c, place) => {
        if (axis in chosen && chosen[axis] !== place) return;
        const key = c + " " + b.classes[at][place];
        pairs.set(key, (pairs.get(key) || 0) + 1);
      });
      return [...pairs].map(([key, n]) => [...key.split(" ").map(Number), n]);
    });
    const sizes = [a, b].map((one) => one.classes.map((c) => Math.max(...c) + 1));
    const found = {};
    (function walk(at, inA, inB, times) {
      if (at === of.length) {
        const from = name(a, a.cells[inA]), to = name(b, b.cells[inB]);
        if (from !== to) found[from + ">" + to] = (found[from + ">" + to] || 0) + times;
        return;
      }
      for (const [c, d, n] of of[at]) {
        walk(at + 1, inA * sizes[0][at] + c, inB * sizes[1][at] + d, times * n);
      }
    })(0, 0, 0, 1);
    return found;
  }

  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // Releases in a row that answer what is chosen alike, and what the first of them changed.
  function spans() {
    const counted = call.answers.map(statuses);
    const found = [];
    call.of_release.forEach((number, place) => {
      const last = found[found.length - 1];
      if (last && last.number === number) return void last.places.push(place);
      let changed = null;
      if (last && last.number !== null && number !== null) {
        changed = changes(call.answers[last.number], call.answers[number]);
        if (Object.keys(changed).length === 0) {
          last.number = number;
          return void last.places.push(place);
        }
      }
      found.push({ number, places: [place], changed, told: number === null ? null : counted[number] });
    });
    return found;
  }

  const version = (place) => all.releases[place].split("+")[0].split(".").slice(0, 3).join(".");
  const sum = (changed, test) =>
    Object.entries(changed || {}).reduce((n, [key, m]) => (test(...key.split(">")) ? n + m : n), 0);
  const began = (c) => sum(c, (a, b) => b === "SUCCESS");
  const stopped = (c) => sum(c, (a) => a === "SUCCESS");
  const other = (c) => sum(c, (a, b) => a !== "SUCCESS" && b !== "SUCCESS");

  // What the step to a release did, in the words of the table atlas_steps.
  function words(place, kinds) {
    return all.steps.filter((s) =>
      s[0] === place && s[1] === call.call && kinds.includes(s[2])).map((s) => s[3]);
  }

  function cell(n, place, kinds, sign) {
    const made = element("td");
    if (!n) return made;
    const told = words(place, kinds);
    const head = `${sign} ${count(n)}`;
    if (!told.length) {
      made.textContent = head;
      return made;
    }
    const more = element("details");
    more.append(element("summary", head), element("span", "the whole step: "),
      element("code", told.join(" or ")));
    made.append(more);
    return made;
  }

  function table(found) {
    const total = names().reduce(
      (n, axis) => n * (axis in chosen ? 1 : call.labels[axis].length), 1);
    $("spans").replaceChildren(...found.map((span) => {
      const row = element("tr");
      const first = span.places[0], last = span.places[span.places.length - 1];
      row.append(element("th",
        first === last ? version(first) : `${version(first)} to ${version(last)}`, { scope: "row" }));
      let told = "no such call";
      if (span.told) {
        const accepted = span.told.SUCCESS || 0;
        told = total === 1 ? Object.keys(span.told)[0] : `${count(accepted)} of ${count(total)}`;
      }
      row.append(element("td", told));
      row.append(cell(began(span.changed), first, ["newly_accepted"], "▲"));
      row.append(cell(stopped(span.changed), first, ["newly_refused", "newly_failed"], "▼"));
      row.append(cell(other(span.changed), first, ["other_status", "no_longer_failed"], "="));
      return row;
    }));
    return total;
  }

  function sentence(found, total) {
    const parts = [];
    for (const span of found) {
      const when = version(span.places[0]);
      if (began(span.changed)) parts.push(`${when} began to accept ${count(began(span.changed))}`);
      if (stopped(span.changed)) {
        parts.push(`${when} stopped accepting ${count(stopped(span.changed))}`);
      }
    }
    const of = total === 1 ? "This one problem" : `These ${count(total)} problems`;
    const ever = found.some((span) => span.told && span.told.SUCCESS);
    if (parts.length) return `${of}: ${parts.join("; ")}.`;
    return `${of}: ${ever ? "no release changed which it accepts" : "no release accepts any"}.`;
  }

  function strip(found) {
    const width = 960, high = 90, left = 8, top = 26;
    const step = (width - 2 * left) / all.releases.length;
    const most = Math.max(1, ...found.map((s) => (s.told && s.told.SUCCESS) || 0));
    const parts = [];
    const add = (text) => parts.push(text);
    for (const span of found) {
      const accepted = (span.told && span.told.SUCCESS) || 0;
      for (const place of span.places) {
        const h = high * accepted / most, x = left + place * step;
        const what = span.told ? `${count(accepted)} accepted` : "no such call";
        add(`<g><title>${all.releases[place]}: ${what}</title>` +
          `<rect class="none" x="${x + 1}" y="${top}" width="${step - 2}" height="${high}"/>` +
          `<rect class="bar" x="${x + 1}" y="${top + high - h}" width="${step - 2}" height="${h}"/></g>`);
      }
      const x = left + (span.places[0] + 0.5) * step;
      if (began(span.changed)) add(`<text class="start" x="${x}" y="20" text-anchor="middle">▲</text>`);
      if (stopped(span.changed)) add(`<text class="stop" x="${x}" y="10" text-anchor="middle">▼</text>`);
    }
    all.releases.forEach((release, place) => {
      const x = left + (place + 0.7) * step;
      add(`<text class="soft" x="${x}" y="${top + high + 6}" text-anchor="end" ` +
        `transform="rotate(-60 ${x} ${top + high + 6})">${version(place)}</text>`);
    });
    $("strip").innerHTML =
      `<svg viewBox="0 0 ${width} ${top + high + 50}" role="img" aria-label="Accepted problems by ` +
      `release, at most ${count(most)}">${parts.join("")}</svg>`;
  }

  // Every release that changed which problems a call accepts, each a link to the call.
  function overview() {
    const told = all.calls.flatMap((one) => {
      call = one;
      return spans().map((s) => [s.places[0], one.call, began(s.changed), stopped(s.changed)]);
    }).filter(([, , b, s]) => b + s);
    $("steps").replaceChildren(...told.sort((a, b) => a[0] - b[0]).map(([place, name, b, s]) => {
      const row = element("li", `${version(place)} `);
      row.append(element("a", name, { href: `#${name}` }),
        ...(b ? [` ▲ began to accept ${count(b)}`] : []),
        ...(s ? [` ▼ stopped accepting ${count(s)}`] : []));
      return row;
    }));
    if (!told.length) $("steps").append(element("li", "none did"));
  }

  function command(found) {
    const axes = Object.keys(chosen).map((axis) => `--axis ${axis}=${call.labels[axis][chosen[axis]]}`);
    const changed = found.filter((s) => s.changed);
    const step = changed.filter((s) => began(s.changed) + stopped(s.changed)).pop() || changed.pop();
    const place = step ? step.places[0] : all.releases.length - 1;
    const sides = step ? `diff ${all.releases[place - 1]} ${all.releases[place]}`
      : `map --cudnn ${all.releases[place]}`;
    const preset = all.presets[call.call] ? [`--preset ${all.presets[call.call]}`] : [];
    $("command").textContent =
      [`pyharness ${sides}`, ...preset, `--call ${call.call}`, ...axes].join(" ");
  }

  function show() {
    const found = spans();
    const total = table(found);
    $("told").textContent = sentence(found, total);
    strip(found);
    command(found);
    const words = Object.keys(chosen).map((axis) => `${axis}=${call.labels[axis][chosen[axis]]}`);
    history.replaceState(null, "", "#" + [call.call, ...words].map(encodeURIComponent).join("&"));
  }

  function axes() {
    const fields = names().filter((axis) => call.labels[axis].length > 1).map((axis) => {
      const label = element("label", axis);
      const field = element("select", undefined, { name: axis });
      field.append(element("option", `any of ${call.labels[axis].length}`, { value: "" }));
      call.labels[axis].forEach((text, place) => field.append(element("option", text, { value: place })));
      if (axis in chosen) field.value = chosen[axis];
      field.classList.toggle("set", axis in chosen);
      field.addEventListener("change", () => {
        if (field.value === "") delete chosen[axis];
        else chosen[axis] = Number(field.value);
        field.classList.toggle("set", axis in chosen);
        show();
      });
      label.append(field);
      return label;
    });
    $("axes").replaceChildren(element("legend", "Only problems with"), ...fields);
  }

  function clear() {
    for (const axis of Object.keys(chosen)) delete chosen[axis];
  }

  all.calls.forEach((one) => {
    const label = element("label");
    const field = element("input", undefined, { type: "radio", name: "call", value: one.call });
    field.addEventListener("change", () => {
      call = one;
      clear();
      axes();
      show();
    });
    label.append(field, " " + one.call);
    $("calls").append(label);
  });
  $("pick").addEventListener("reset", (event) => {
    event.preventDefault();
    clear();
    axes();
    show();
  });

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return ""; // cut off in the middle of a letter
    }
  }

  function fromAddress() {
    const [wanted, ...given] = location.hash.slice(1).split("&").map(decoded);
    call = all.calls.find((one) => one.call === wanted) || all.calls[0];
    clear();
    for (const word of given) {
      const [axis, text] = [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)];
      const place = (call.labels[axis] || []).indexOf(text);
      if (place >= 0) chosen[axis] = place;
    }
    document.querySelector(`#calls input[value="${call.call}"]`).checked = true;
    axes();
    show();
  }
  window.addEventListener("hashchange", fromAddress);
  overview();
  fromAddress();
})();
