// The dashboard's page: follows /stream, and shows what comes. Everything that comes is text and numbers:
// names are put in as text, never as HTML.

import { bars, lines } from "./charts.js";

const COLOURS = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => `var(--s${k})`);
const MOST_SAMPLES = 600, MOST_ROWS = 300, MOST_EVENTS = 200, HELD_S = 0.25;
const $ = (id) => document.getElementById(id);
const state = { seen: null, lines: [], samples: [], colours: new Map(), sort: 1, isReversed: false, inside: null };

function element(name, { text, kind, title, click } = {}) {
  const found = document.createElement(name);
  if (text !== undefined) found.textContent = text;
  if (kind) found.className = kind;
  if (title) found.title = title;
  if (click) found.addEventListener("click", click);
  return found;
}

const size = (bytes) => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let k = 0;
  for (; bytes >= 1000 && k < 4; k += 1) bytes /= 1000;
  return `${k && bytes < 100 ? Number(bytes.toPrecision(3)) : Math.round(bytes)} ${units[k]}`;
};
const time = (s) => (s >= 1 ? `${Number(s.toPrecision(3))} s` : `${Number((1000 * s).toPrecision(3))} ms`);
const short = (s) => (s < 10 ? `${s.toFixed(1)} s` : s < 60 ? `${Math.round(s)} s` : `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`);
const count = (n) => n.toLocaleString("en");
const colourOf = (name) => {
  if (!state.colours.has(name)) state.colours.set(name, COLOURS[state.colours.size % COLOURS.length]);
  return state.colours.get(name);
};

// Members. A column has a title, how it is shown, and what it is sorted by: the worst first.

const SEVERITY = ["failed", "suspected", "silent", "behind", "not heard here", "", "left", "ok"];
const severity = (one) => (SEVERITY.indexOf(one.state) < 0 ? 5 : SEVERITY.indexOf(one.state));
const COLUMNS = [
  ["Member", (one) => one.name, (one) => one.name],
  ["State", (one) => one.state, (one) => severity(one) - one.lag_s / 1e6],
  ["Heard", (one) => (one.heard_s === null ? "-" : `${short(one.heard_s)} ago`), (one) => -(one.heard_s ?? 0)],
  ["Sent", (one) => (one.sent ? count(one.sent) : "-"), (one) => -one.sent],
  ["Frontier", (one) => (one.sent ? count(one.frontier) : "-"), (one) => -one.frontier],
  ["Lag", (one) => (one.is_known ? (one.lag ? count(one.lag) : "-") : "?"), (one) => -one.lag],
  ["Lag bytes", (one) => (one.lag_bytes ? size(one.lag_bytes) : "-"), (one) => -one.lag_bytes],
  ["For", (one) => (one.lag ? short(one.lag_s) : "-"), (one) => -one.lag_s],
  ["Kept", (one) => (one.kept_bytes === null ? "-" : size(one.kept_bytes)), (one) => -(one.kept_bytes ?? 0)],
];

function makeHead() {
  $("members").tHead.rows[0].replaceChildren(
    ...COLUMNS.map(([title], place) => {
      const head = element("th");
      head.scope = "col";
      head.append(element("button", { text: title, click: () => sortBy(place) }));
      return head;
    }),
  );
}

function sortBy(place) {
  state.isReversed = place === state.sort && !state.isReversed;
  state.sort = place;
  showMembers();
}

function showMembers() {
  const key = COLUMNS[state.sort][2];
  const found = state.lines.map((one, place) => [key(one), place, one]);
  found.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j));
  if (state.isReversed) found.reverse();
  [...$("members").tHead.rows[0].cells].forEach((cell, place) => {
    if (place === state.sort) cell.ariaSort = state.isReversed ? "descending" : "ascending";
    else cell.removeAttribute("aria-sort");
  });
  fill($("members").tBodies[0], found.slice(0, MOST_ROWS).map(([, , one]) => one));
  $("more").hidden = found.length <= MOST_ROWS;
  $("more").textContent = `${found.length - MOST_ROWS} more members in this order`;
}

// Rows stay, so that the focus does, and only what has changed is put in.
function fill(body, found) {
  while (body.rows.length > found.length) body.deleteRow(-1);
  while (body.rows.length < found.length) {
    const row = body.insertRow();
    row.insertCell().append(element("button", { kind: "name", click: () => lookInto(row.dataset.name) }));
    for (let k = 1; k < COLUMNS.length; k += 1) row.insertCell();
  }
  found.forEach((one, place) => {
    const row = body.rows[place];
    row.dataset.name = one.name;
    row.className = ["failed", "suspected", "silent"].includes(one.state) ? "trouble" : "";
    COLUMNS.forEach(([, show], k) => {
      const where = k ? row.cells[k] : row.cells[0].firstChild;
      const text = show(one) + (k || !one.is_me ? "" : " *");
      if (where.textContent !== text) where.textContent = text;
      if (k === 1) where.className = one.state === "not heard here" ? "unheard" : one.state.split(" ")[0];
    });
  });
}

// Who holds what back, and messages

function showHolding() {
  const held = state.seen.holding.filter((one) => one.since_s >= HELD_S).slice(0, 30);
  $("holding").replaceChildren(
    ...held.map((one) => {
      const item = element("li", { text: `${one.member} lacks ` });
      const id = `${one.source}/${one.first}`;
      item.append(element("button", { text: id, kind: "message", title: "Look into this message", click: () => lookAt(id) }));
      const more = one.messages > 1 ? ` and ${count(one.messages - 1)} more` : "";
      item.append(`${more} (${size(one.bytes)}), for ${short(one.since_s)}`);
      return item;
    }),
  );
  if (!held.length) $("holding").append(element("li", { text: "Nobody.", kind: "muted" }));
}

function open(title, ...parts) {
  $("inside-head").textContent = title;
  $("inside-body").replaceChildren(...parts);
  if (!$("inside").open) $("inside").showModal();
}

async function lookInto(name) {
  state.inside = name;
  const answer = await fetch(`member?name=${encodeURIComponent(name)}`);
  if (state.inside !== name) return;
  const text = (await answer.text()).trimEnd();
  if ($("inside").open && $("inside-head").textContent === name) $("inside-body").firstChild.textContent = text;
  else open(name, element("pre", { text }));
}

async function lookAt(id) {
  state.inside = null;
  const place = id.lastIndexOf("/");
  const query = `source=${encodeURIComponent(id.slice(0, place))}&seq=${encodeURIComponent(id.slice(place + 1))}`;
  const answer = await fetch(`explain?${query}`);
  if (!answer.ok) return open(id, element("pre", { text: (await answer.text()).trimEnd() }));
  const { explained, lens } = await answer.json();
  const said = explained.laggards.map(
    (one) => `${one.member} has up to ${count(one.has_up_to)}; lacks it for ${short(one.since)}; last heard of ${short(one.last_heard)} ago`,
  );
  const parts = [element("pre", { text: [`This message is ${explained.state}.`, ...said].join("\n") })];
  if (lens) {
    const link = element("a", { text: "Open its lens: what its time to stable was made of" });
    link.href = `lens?message=${encodeURIComponent(id)}`;
    link.target = "_blank";
    parts.push(link);
  }
  open(id, ...parts);
}

// Pictures

function showPictures() {
  const { samples, seen } = state;
  const names = [...new Set(samples.flatMap((one) => Object.keys(one.frontiers)))];
  const present = new Set(Object.keys(samples.at(-1)?.frontiers ?? {}));
  const series = names.filter((name) => present.has(name)).flatMap((name) =>
    [0, 1].map((k) => ({
      name, colour: colourOf(name), dashed: k === 0,
      points: samples.map((one) => [one.time_us, one.frontiers[name]?.[k] ?? null]),
    })),
  );
  lines($("frontiers"), series, { format: count, zero: false, legend: true });
  const times = samples.filter((one) => one.to_stable_s !== null);
  $("times-text").textContent = timesText(times.at(-1), samples.at(-1));
  const stable = times.map((one) => [one.time_us, one.to_stable_s]);
  const until = samples.at(-1).time_us;
  lines($("times"), [{ name: "time to stable", colour: COLOURS[2], points: stable }], { format: time, log: true, until });
  const limit = seen.buffer_bytes ? ` of ${size(seen.buffer_bytes)}` : "";
  $("kept-text").textContent = `${size(seen.kept_bytes)}${limit}${seen.me ? ` at ${seen.me}` : " at all members"}`;
  const kept = samples.map((one) => [one.time_us, one.kept_bytes]);
  lines($("kept"), [{ name: "kept", colour: COLOURS[0], points: kept }], { format: size });
  const behind = state.lines.filter((one) => one.lag && one.lag_s >= HELD_S).sort((a, b) => b.lag_s - a.lag_s);
  bars($("lags"), behind.slice(0, 12).map((one) => ({ name: one.name, value: one.lag, said: `${count(one.lag)}, ${short(one.lag_s)}` })));
}

function timesText(last, newest) {
  if (!last) return "Nothing has become stable since this dashboard began.";
  const of = last.is_own ? "of own messages, from sending" : "from coming here";
  const quiet = (newest.time_us - last.time_us) / 1e6;
  const since = quiet > 1 ? `Nothing has become stable for ${short(quiet)}. Before: ` : "";
  return `${since}${time(last.to_stable_s)} ${of}. Logarithmic.`;
}

// What comes

function show() {
  showMembers();
  showHolding();
  showPictures();
  if (state.inside !== null && $("inside").open) lookInto(state.inside);
}

function addNotes(notes) {
  const list = $("events");
  const isAtTop = list.scrollTop < 5;
  for (const text of notes) list.prepend(element("li", { text }));
  while (list.children.length > MOST_EVENTS) list.lastChild.remove();
  if (isAtTop) list.scrollTop = 0;
}

function lose(text) {
  $("lost").textContent = text;
  $("lost").hidden = !text;
}

function follow() {
  const stream = new EventSource("stream");
  stream.addEventListener("begin", ({ data }) => {
    const begun = JSON.parse(data);
    state.samples = begun.samples;
    $("place").textContent = `Follows ${begun.place}.`;
    $("events").replaceChildren();
    addNotes(begun.notes);
  });
  stream.addEventListener("look", ({ data }) => {
    const look = JSON.parse(data);
    Object.assign(state, { seen: look.seen, lines: look.lines });
    state.samples.push(look.sample);
    state.samples.splice(0, state.samples.length - MOST_SAMPLES);
    $("title").textContent = document.title = look.title;
    $("summary").textContent = look.summary;
    lose("");
    show();
    document.documentElement.dataset.looks = Number(document.documentElement.dataset.looks ?? 0) + 1;
  });
  stream.addEventListener("notes", ({ data }) => addNotes(JSON.parse(data)));
  stream.addEventListener("lost", ({ data }) => lose(JSON.parse(data)));
  stream.onerror = () => lose("lost contact with the dashboard, trying again");
}

makeHead();
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  lookAt($("message").value.trim());
});
$("inside").addEventListener("close", () => (state.inside = null));
$("inside").addEventListener("click", (event) => event.target === $("inside") && $("inside").close());
addEventListener("resize", () => state.seen && showPictures());
follow();
