"use strict";
// What stands beside the diagram: the message that is looked at, the slowest ones, filters, how to read it.

const POINT_CHIPS = [
  ["sent", [SEND], "sent"], ["received", [RECEIVE], "received"], ["known stable", [STABLE], "known"],
  ["released", [RELEASE], "released"], ["timer", [4], "timer"], ["joined, left, failed", [5, 6, 7], "change"],
];
const LISTED = 30;

// An element with properties and children; a text is always a text node.
function el(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((one) => one !== null));
  return made;
}

function fillPanel(run) {
  $("facts").textContent = run.facts.join(" · ");
  fillKinds(run);
  fillPointChips(run);
  fillMembers(run);
  fillSlowest(run, LISTED);
  $("paths").textContent = run.note;
  $("remarks").replaceChildren(...run.remarks.map((line) => el("li", { textContent: line })));
}

function chip(name, swatch, number, toggle) {
  const button = el("button", { type: "button", className: "chip", ariaPressed: "true" }, swatch, name);
  if (number !== null) button.append(el("span", { className: "number", textContent: count(number) }));
  button.addEventListener("click", () => {
    const on = button.ariaPressed !== "true";
    button.ariaPressed = String(on);
    toggle(on);
    redraw();
  });
  return button;
}

function fillKinds(run) {
  const numbers = new Uint32Array(run.kinds.length);
  for (const kind of run.arrow_kind) numbers[kind]++;
  const there = run.kinds.map((_, k) => k).filter((k) => numbers[k]); // timers have names in the same list
  $("kinds").replaceChildren(...there.map((k) => {
    const kind = run.kinds[k];
    const swatch = el("span", { className: "swatch line" });
    swatch.style.setProperty("--light", kind.light);
    swatch.style.setProperty("--darker", kind.dark);
    const button = chip(kind.name, swatch, numbers[k], (on) => { page.view.hidden[k] = on ? 0 : 1; });
    button.dataset.kind = kind.name;
    return button;
  }));
}

function fillPointChips(run) {
  const there = new Set(run.point_kind);
  $("points").replaceChildren(...POINT_CHIPS.filter(([, codes]) => codes.some((code) => there.has(code))).map(
    ([name, codes, shape]) => chip(name, el("span", { className: `swatch dot ${shape}` }), null, (on) => {
      for (const code of codes) page.view.noPoints[code] = on ? 0 : 1;
    })));
}

function fillMembers(run) {
  const input = $("members");
  const use = () => {
    const parts = input.value.split(/[\s,]+/).filter(Boolean);
    const exact = new Set(parts.filter((part) => run.numberOf.has(part)));
    const wanted = (k) => !parts.length || exact.has(run.members[k])
      || parts.some((part) => !exact.has(part) && run.members[k].includes(part));
    const some = showMembers(wanted);
    $("nobody").textContent = some ? "" : "no member has such a name";
  };
  input.addEventListener("input", use);
  $("everyone").addEventListener("click", () => { input.value = ""; use(); });
}

// Only the members by which the message came to be known; as a line of names, which can be changed.
function onlyPath() {
  const { run, view } = page;
  $("members").value = [...view.strong].sort((a, b) => a - b).map((k) => run.members[k]).join(" ");
  showMembers((k) => view.strong.has(k));
}

function fillSlowest(run, number) {
  const most = run.messages.length ? run.messages[0].length : 1;
  $("slowest").replaceChildren(...run.messages.slice(0, number).map((one) => {
    const path = run.paths[one.name];
    const bar = el("span", { className: "bar" }, ...(path ? phaseBars(path) : [el("span", { className: "whole" })]));
    bar.style.width = `${(100 * one.length) / most}%`;
    const button = el("button", { type: "button" }, el("b", { textContent: one.name }),
      el("span", { className: "number", textContent: `${inMs(one.length)} ms` }), el("span", { className: "track" }, bar));
    button.dataset.message = one.name;
    button.addEventListener("click", () => openMessage(one.name));
    return el("li", {}, button);
  }));
  $("more").hidden = number >= run.messages.length;
  $("more").textContent = `${count(run.messages.length - number)} more`;
  $("more").onclick = () => fillSlowest(run, number + 200);
  $("none").hidden = run.messages.length > 0;
  markOpen();
}

function phaseBars(path) {
  return path.phases.map((phase) => {
    const part = el("span", { className: phase.name, title: `${phase.label}: ${inMs(phase.end - phase.begin)} ms` });
    part.style.flexGrow = phase.end - phase.begin;
    return part;
  });
}

function markOpen() {
  const name = page.looked?.message.name;
  for (const one of document.querySelectorAll("[data-message]")) one.ariaCurrent = String(one.dataset.message === name);
}

function fillMessage(run, looked) {
  const { message, path } = looked, box = $("message");
  box.hidden = false;
  box.replaceChildren(
    el("h2", {}, el("span", { textContent: message.name }), closer()),
    ...(path ? tellPath(run, looked) : [el("p", { textContent: whyNoPath(run, looked) })]),
    tellLife(run, looked),
  );
  markOpen();
}

function closer() {
  const button = el("button", { type: "button", textContent: "Close", className: "quiet" });
  button.addEventListener("click", closeMessage);
  return button;
}

function whyNoPath(run, { life, message }) {
  if (run.lacking[message.name]) return `${run.lacking[message.name]}.`;
  if (!life.known.size) return "No member knew it to be stable by the end of the trace.";
  return `Its critical path is not in this page; stablecast lens TRACE --message ${message.name} puts it there.`;
}

function tellPath(run, looked) {
  const { path } = looked, total = path.end - path.begin;
  const bar = el("div", { className: "bar tall" }, ...phaseBars(path));
  const phases = el("ol", { className: "phases" }, ...path.phases.map((phase) => el("li", { className: phase.name },
    el("b", { textContent: `${inMs(phase.end - phase.begin)} ms ` }), `${phase.label}. ${phase.text}`)));
  const only = el("button", { type: "button", textContent: "Only members on the path" });
  only.addEventListener("click", () => { onlyPath(); revealPath(); });
  const whole = el("button", { type: "button", textContent: "The whole path" });
  whole.addEventListener("click", () => { looked.segment = null; openMessage(looked.message.name); });
  return [
    el("p", { className: "answer" }, el("b", { textContent: `${inMs(total)} ms` }),
      ` from its sending until ${path.until}`),
    bar, phases, el("h3", { textContent: "Critical path" }),
    el("p", { className: "hint", textContent: "What decided it, piece by piece; a click shows where." }),
    segmentTable(run, looked, total), el("p", { className: "tools" }, whole, only),
    ...path.remarks.map((line) => el("p", { className: "hint", textContent: line })),
  ];
}

function segmentTable(run, looked, total) {
  const rows = looked.path.segments.map((one) => segmentRow(run, one, total));
  const sum = looked.path.segments.reduce((all, one) => all + one.end - one.begin, 0);
  const foot = el("tr", {}, el("th", { textContent: "sum", scope: "row" }), el("td", { className: "number", textContent: inMs(sum) }), el("td"));
  foot.dataset.sumUs = sum;
  return el("div", { className: "scroll" }, el("table", { id: "segments" },
    el("thead", {}, el("tr", {}, ...["piece", "ms", "share"].map((name) => el("th", { textContent: name, scope: "col" })))),
    el("tbody", {}, ...rows), el("tfoot", {}, foot)));
}

function segmentRow(run, one, total) {
  const us = one.end - one.begin, share = total ? us / total : 0;
  const button = el("button", { type: "button", className: "link", textContent: one.text });
  button.addEventListener("click", () => lookAtSegment(one));
  const detail = one.queue === null ? null : el("small", {
    textContent: `queues ${inMs(one.queue)}, served ${inMs(one.service)}, on the way ${inMs(us - one.queue - one.service)} ms`,
  });
  const bar = el("span", { className: "share" });
  bar.style.width = `${(100 * share).toFixed(1)}%`;
  const row = el("tr", { className: one.kind }, el("td", {}, button, detail),
    el("td", { className: "number", textContent: inMs(us) }),
    el("td", { className: "number" }, `${Math.round(100 * share)} %`, bar));
  row.dataset.us = us;
  return row;
}

// One row a member: when it had the message, how it came, and when it knew and let go.
function tellLife(run, looked) {
  const { life, carriers } = looked, begin = life.sent ?? looked.from;
  const after = (map, k) => el("td", { className: "number", textContent: map.has(k) ? inMs(map.get(k) - begin) : "–" });
  const members = [...new Set([...(life.sent === null ? [] : [looked.message.source]), ...life.received.keys(), ...life.known.keys()])];
  members.sort((a, b) => (life.received.get(b) ?? 0) - (life.received.get(a) ?? 0) || a - b);
  const rows = members.map((k) => el("tr", {}, el("th", { textContent: run.members[k], scope: "row" }), 
    k === looked.message.source ? el("td", { className: "number", textContent: inMs(0) }) : after(life.received, k),
    el("td", { textContent: howItCame(run, looked, carriers, k) }), after(life.known, k), after(life.released, k)));
  const titles = ["member", "received", "how", "known stable", "released"].map((name) => el("th", { textContent: name, scope: "col" }));
  return el("details", { open: members.length <= 12 }, el("summary", { textContent: `Its life at ${count(members.length)} members` }),
    el("p", { className: "hint", textContent: "ms after its sending; who had it last stands first" }),
    el("div", { className: "scroll" }, el("table", { id: "life" }, el("thead", {}, el("tr", {}, ...titles)), el("tbody", {}, ...rows))));
}

function howItCame(run, { message, life }, carriers, member) {
  if (member === message.source) return "sent it";
  const way = life.received.has(member) ? wayTo(run, carriers, member, life.received.get(member)) : undefined;
  if (way === undefined) return "";
  const kind = run.kinds[run.arrow_kind[way]].name;
  return `${kind === "DATA" ? "" : `${kind} `}from ${run.members[run.arrow_from[way]]}`;
}
