"use strict";
// The page: what is looked at, and how a person moves about in it. Texts from the trace become text nodes, never HTML.

const LEAST = 4; // microseconds that a window shows at least
const $ = (id) => document.getElementById(id);
const page = { run: null, view: null, looked: null, theme: null, seen: null, waiting: false, flight: 0, frames: [] };

async function start() {
  try {
    page.run = await readRun($("data").textContent);
  } catch (problem) {
    $("facts").textContent = `This page needs a browser of 2023 or later (${problem.message}).`;
    return;
  }
  const { run } = page;
  page.view = {
    from: 0, to: run.span, scroll: 0, rowHeight: 40, rows: [], rowOf: new Int32Array(run.members.length), fitted: true,
    hidden: new Uint8Array(run.kinds.length), noPoints: new Uint8Array(POINTS.length), strong: new Set(), filters: 0, unit: "",
  };
  page.theme = readTheme();
  fillPanel(run); // first, since it takes room from the diagram
  showMembers(() => true);
  listen();
  openHash();
  if (!page.looked) goTo(run.from, run.to, true);
  document.documentElement.dataset.lens = "ready";
}

// Colours come from the style sheet, so that light and dark are told apart in one place.
function readTheme() {
  const style = getComputedStyle(document.documentElement), css = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["text", "muted", "rule", "grid", "card", "back", "lost", "path", "way", "chosen", "strip", "shade",
    "sent", "received", "known", "released", "timer", "change"];
  const theme = Object.fromEntries(names.map((name) => [name, css(name)]));
  const family = getComputedStyle(document.body).fontFamily;
  return {
    ...theme, failed: theme.lost, phases: [css("phase-had"), css("phase-begun"), css("phase-counted")],
    dark: css("scheme") === "dark", density: css("density").split(" ").map(Number),
    pale: Number(css("pale")), tint: Number(css("tint")),
    plain: `13px ${family}`, bold: `700 13px ${family}`, small: `12px ${family}`,
  };
}

function redraw() {
  if (page.waiting) return;
  page.waiting = true;
  requestAnimationFrame(() => {
    page.waiting = false;
    const begin = performance.now();
    page.seen = drawDiagram($("diagram"), page.run, page.view, page.looked, page.theme);
    drawOverview($("overview"), page.run, page.view, page.looked, page.theme);
    tellWindow();
    page.frames.push(performance.now() - begin);
    if (page.frames.length > 2000) page.frames.shift();
  });
}

function tellWindow() {
  const { count: arrows, arrows: drawn, dots, dense } = page.seen, { from, to } = page.view;
  const told = `${count(arrows)} transmissions, ${count(dots)} events in ${show(Math.round(to - from))}`;
  const left = arrows - drawn.length, [low, high] = rowsSeen(page.view, page.seen.frame), all = page.view.rows.length;
  const more = [dense && "darker is more, zoom in for arrows", !dense && left && `${count(left)} that only pass by are not drawn`,
    high - low < all && `${count(high - low)} of ${count(all)} members in sight`];
  $("window").textContent = $("window").title = [told, ...more.filter(Boolean)].join(" · ");
  if (document.activeElement !== $("from")) $("from").value = (from / 1000).toFixed(3);
  if (document.activeElement !== $("to")) $("to").value = (to / 1000).toFixed(3);
}

// The window: never outside the run (with a little room), never shorter than can be told apart.
function setWindow(from, to) {
  const { run, view } = page, room = run.span * 0.02 + 1;
  const long = Math.min(Math.max(to - from, LEAST), run.span + 2 * room);
  view.from = Math.min(Math.max(from, -room), run.span + room - long);
  view.to = view.from + long;
  redraw();
}

// Goes to a window in a fifth of a second, or at once for who wants no motion.
function goTo(from, to, atOnce = false) {
  const flight = ++page.flight, { view } = page, [from0, to0] = [view.from, view.to], begin = performance.now();
  const still = atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const step = (now) => {
    if (flight !== page.flight) return;
    const part = still ? 1 : Math.min(1, Math.max(0, (now - begin) / 200)), ease = part * part * (3 - 2 * part);
    setWindow(from0 + ease * (from - from0), to0 + ease * (to - to0));
    if (part < 1) requestAnimationFrame(step);
  };
  step(begin);
}

function zoom(factor, x) {
  page.flight++;
  const { view } = page, frame = frameOf($("diagram"), page.run, page.looked);
  const middle = timeOf(view, frame, x ?? frame.left + frame.plotWidth / 2);
  setWindow(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}

function pan(pixels, down = 0) {
  page.flight++;
  const { view } = page, frame = frameOf($("diagram"), page.run, page.looked);
  const time = (pixels / frame.plotWidth) * (view.to - view.from);
  scrollRows(view.scroll + down);
  setWindow(view.from + time, view.to + time);
}

function scrollRows(scroll) {
  const { view } = page, frame = frameOf($("diagram"), page.run, page.looked);
  view.scroll = Math.max(0, Math.min(scroll, view.rows.length * view.rowHeight - frame.plotHeight));
  redraw();
}

function setRowHeight(height) {
  const { view } = page, frame = frameOf($("diagram"), page.run, page.looked);
  view.fitted = false;
  const least = Math.min(12, frame.plotHeight / view.rows.length), middle = (view.scroll + frame.plotHeight / 2) / view.rowHeight;
  view.rowHeight = Math.max(least, Math.min(160, height));
  scrollRows(middle * view.rowHeight - frame.plotHeight / 2);
}

// Which members have a line, in the order of names; their lines share the height if they can be told apart.
function showMembers(wanted) {
  const { run, view } = page;
  view.rows = inOrder(run).filter(wanted);
  if (!view.rows.length) return false;
  view.rowOf.fill(-1);
  view.rows.forEach((member, row) => { view.rowOf[member] = row; });
  view.filters++;
  fitRows();
  return true;
}

// m2 before m10; those of whom nothing is told but transmissions, such as addresses before they join, come last.
function inOrder(run) {
  const { compare } = new Intl.Collator("en", { numeric: true }), told = new Set(run.point_member);
  return run.order ??= run.members.map((_, k) => k).sort((a, b) =>
    told.has(b) - told.has(a) || compare(run.members[a], run.members[b]) || a - b);
}

function fitRows() {
  const { view } = page, frame = frameOf($("diagram"), page.run, page.looked);
  view.fitted = true;
  view.rowHeight = Math.max(13, Math.min(110, frame.plotHeight / view.rows.length));
  scrollRows(0);
}

function onResize() {
  if (page.view.fitted) fitRows();
  scrollRows(page.view.scroll);
}

// Opens a message: its life, its path if it is in the page, and the window of both.
function openMessage(text) {
  const { run, view } = page, message = parseMessage(run, text), life = message && lifeOf(run, message);
  $("missing").textContent = life ? "" : missing(run, text, message);
  if (!life) return false;
  const path = run.paths[message.name] ?? null, carriers = carriersOf(run, message);
  const times = [...life.received.values(), ...life.known.values(), life.sent ?? Infinity];
  const [from, to] = path ? [path.begin, path.end] : [Math.min(...times), times.reduce((a, b) => (b < Infinity ? Math.max(a, b) : a), 0)];
  page.looked = { message, life, path, carriers, from, to, segment: null };
  view.strong = new Set(path ? [...path.segments, ...path.way].flatMap((one) => [one.from, one.to]) : [message.source]);
  fillMessage(run, page.looked);
  $("search").value = message.name;
  history.replaceState(null, "", `#${encodeURIComponent(message.name)}`);
  const room = Math.max(2, (to - from) * 0.06);
  goTo(from - room, to + room);
  onResize(); // names of phases take a line of the diagram
  revealPath();
  return true;
}

function missing(run, text, message) {
  if (!message) return `“${text}” is not a message (accepted: a member and a number, such as ${run.members[0]}/1)`;
  const numbers = run.sent[message.source];
  const has = numbers ? `${run.members[message.source]} sent ${numbers[0]} to ${numbers[1]}` : `${run.members[message.source]} sent none`;
  return `no message ${message.name} in this run (${has})`;
}

// Scrolls so that the path's first member with a line is in sight.
function revealPath() {
  const { view, looked } = page, rows = [...view.strong].map((member) => view.rowOf[member]).filter((row) => row >= 0);
  const frame = frameOf($("diagram"), page.run, looked);
  const middle = rows.length ? (Math.min(...rows) + Math.max(...rows) + 1) / 2 : 0;
  scrollRows(middle * view.rowHeight - frame.plotHeight / 2);
}

function closeMessage() {
  if (!page.looked) return;
  page.looked = null;
  page.view.strong = new Set();
  $("message").replaceChildren();
  $("message").hidden = true;
  history.replaceState(null, "", location.pathname + location.search);
  markOpen();
  onResize();
  redraw();
}

function lookAtSegment(segment) {
  const room = Math.max(2, (segment.end - segment.begin) * 0.4);
  page.looked.segment = segment;
  goTo(segment.begin - room, segment.end + room);
}

function openHash() {
  const wanted = location.hash ? decodeURIComponent(location.hash.slice(1)) : page.run.open;
  if (wanted) openMessage(wanted);
}

addEventListener("DOMContentLoaded", start);
