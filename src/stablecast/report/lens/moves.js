"use strict";
// Pointer, wheel, touch and keys.

function listen() {
  const diagram = $("diagram"), overview = $("overview");
  diagram.addEventListener("wheel", onWheel, { passive: false });
  dragging(diagram, onDrag);
  diagram.addEventListener("pointermove", onPoint);
  diagram.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  diagram.addEventListener("click", onClick);
  diagram.addEventListener("dblclick", (event) => zoom(0.4, event.offsetX));
  diagram.addEventListener("keydown", onKey);
  dragging(overview, (event) => centre(event.offsetX));
  overview.addEventListener("click", (event) => centre(event.offsetX));
  $("find").addEventListener("submit", (event) => { event.preventDefault(); openMessage($("search").value.trim()); });
  $("times").addEventListener("change", onTimes);
  $("times").addEventListener("submit", (event) => { event.preventDefault(); onTimes(); });
  $("whole").addEventListener("click", () => goTo(0, page.run.span));
  $("closer").addEventListener("click", () => zoom(0.5));
  $("farther").addEventListener("click", () => zoom(2));
  $("taller").addEventListener("click", () => setRowHeight(page.view.rowHeight * 1.4));
  $("shorter").addEventListener("click", () => setRowHeight(page.view.rowHeight / 1.4));
  addEventListener("hashchange", openHash);
  new ResizeObserver(onResize).observe(diagram);
  const darkness = matchMedia("(prefers-color-scheme: dark)");
  darkness.addEventListener("change", () => { page.theme = readTheme(); redraw(); });
}

// Turning zooms about the pointer; sideways and with Shift it moves in time, with Alt over members.
function onWheel(event) {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : 1, [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  if (event.altKey) pan(0, dy);
  else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) pan(dx || dy);
  else zoom(Math.exp(Math.max(-60, Math.min(60, dy)) * (event.ctrlKey ? 0.01 : 0.004)), event.offsetX);
}

// Follows pointers that are down; with two of them their distance zooms.
function dragging(canvas, move) {
  const down = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, [event.offsetX, event.offsetY]);
    canvas.setPointerCapture(event.pointerId);
    page.dragged = false;
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => down.delete(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const now = [event.offsetX, event.offsetY];
    if (Math.hypot(now[0] - before[0], now[1] - before[1]) < 3 && !page.dragged) return;
    page.dragged = true;
    move(event, before, now, [...down].find(([id]) => id !== event.pointerId)?.[1]);
    down.set(event.pointerId, now);
  });
}

function onDrag(event, before, now, other) {
  $("tip").hidden = true;
  if (!other) return pan(before[0] - now[0], event.pointerType === "mouse" ? before[1] - now[1] : 0);
  const [was, is] = [Math.abs(before[0] - other[0]), Math.abs(now[0] - other[0])];
  if (was > 10 && is > 10) zoom(was / is, (now[0] + other[0]) / 2);
}

function centre(x) {
  const { run, view } = page, middle = (x / $("overview").clientWidth) * run.span, half = (view.to - view.from) / 2;
  page.flight++;
  setWindow(middle - half, middle + half);
}

function onTimes() {
  const [from, to] = [$("from"), $("to")].map((input) => 1000 * Number(input.value));
  const fits = Number.isFinite(from) && Number.isFinite(to) && from < to;
  $("wrong").textContent = fits ? "" : "the first time is before the second one, both in ms";
  if (fits) goTo(from, to);
}

const KEYS = {
  ArrowLeft: () => pan(-80), ArrowRight: () => pan(80), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60),
  "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": () => goTo(0, page.run.span),
  "[": () => setRowHeight(page.view.rowHeight / 1.3), "]": () => setRowHeight(page.view.rowHeight * 1.3),
  n: () => step(1), p: () => step(-1), Escape: () => closeMessage(), "/": () => $("search").focus(),
};

function onKey(event) {
  const action = KEYS[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
}

// The next piece of the path, or without a message the next of the slowest ones.
function step(by) {
  const { looked, run } = page, pieces = looked?.path?.segments;
  if (!pieces) return run.messages.length && openMessage(run.messages[0].name);
  const at = pieces.indexOf(looked.segment) + by;
  return lookAtSegment(pieces[(Math.max(at, -1) + pieces.length) % pieces.length]);
}

function onPoint(event) {
  const tip = $("tip");
  const hit = page.seen && !event.buttons ? whatIsAt(event.offsetX, event.offsetY) : null;
  $("diagram").style.cursor = hit?.message ? "pointer" : "";
  tip.hidden = !hit;
  if (!hit) return;
  tip.replaceChildren(...hit.lines.map((line, k) => el(k ? "div" : "b", { textContent: line })));
  const { clientWidth, clientHeight } = $("diagram");
  tip.style.left = `${Math.max(0, Math.min(event.offsetX + 14, clientWidth - tip.offsetWidth - 6))}px`;
  tip.style.top = `${event.offsetY + 16 + tip.offsetHeight > clientHeight ? event.offsetY - tip.offsetHeight - 10 : event.offsetY + 16}px`;
}

function onClick(event) {
  if (page.dragged) return;
  const hit = page.seen && whatIsAt(event.offsetX, event.offsetY);
  if (hit?.message) openMessage(hit.message);
}

// What is pointed at: a piece of the path, a dot, an arrow, or how much is in a column.
function whatIsAt(x, y) {
  const { run, view, looked, seen } = page, { frame } = seen;
  if (x < frame.left || y < frame.top) return null;
  const pieces = looked?.path ? [...looked.path.segments, ...looked.path.way] : [];
  const piece = nearest(pieces, 6, (one) => toLine(x, y, lineOf(view, frame, one)));
  if (piece) return { lines: [piece.text, `${looked.path.way.includes(piece) ? `how it came to ${run.members[looked.path.last]}` : "critical path"}: ${show(piece.end - piece.begin)}`, `from ${show(piece.begin)} to ${show(piece.end)}`] };
  if (seen.dense) return null;
  const dot = nearest(seen.points, 7, (k) => Math.hypot(x - xOf(view, frame, run.point_time[k]), y - yOf(view, frame, run.point_member[k])));
  if (dot !== null) return { lines: tellPoint(run, dot), message: nameOf(run, run.point_source[dot], run.point_seq[dot]) };
  const arrow = nearest(seen.arrows, 5, (k) => toLine(x, y, endsOf(run, view, frame, k)));
  if (arrow === null) return null;
  return { lines: tellArrow(run, arrow), message: nameOf(run, run.arrow_source[arrow], run.arrow_seq[arrow]) };
}

function nameOf(run, source, seq) {
  return source >= 0 && seq >= 0 ? `${run.members[source]}/${seq}` : null;
}

function nearest(things, most, distance) {
  let found = null, least = most;
  for (const one of things) {
    const far = distance(one);
    if (far < least) [found, least] = [one, far];
  }
  return found;
}

function toLine(x, y, [x0, y0, x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0], square = dx * dx + dy * dy;
  const part = square ? Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / square)) : 0;
  return Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
}
