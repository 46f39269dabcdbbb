"use strict";
// Draws the space-time diagram on a canvas: members are lines, time goes to the right.
//
// What a frame costs follows from what is in the window, and has a limit: up to MOST_ARROWS transmissions are
// drawn as arrows and up to MOST_POINTS events as dots; beyond that a member's line shows how much happens where
// (darker is more), which is counted per column of pixels. Those that only pass by, with both ends outside of the
// window, are left out where there are many: with long queues, thousands are under way at any time, and hide the
// rest. The message that is looked at is always drawn whole.

const MOST_ARROWS = 4000, MOST_HEADS = 1000, MOST_POINTS = 5000, MOST_SHAPES = 1500;
const COLUMN = 2; // pixels of a column of the density
const TOP = 30, PHASE_LINE = 20; // the time axis, and below it the names of phases
const SHAPES = ["sent", "received", "known", "released", "timer", "change", "change", "failed"];

function frameOf(canvas, run, looked) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const longest = run.members.reduce((most, name) => Math.max(most, name.length), 2);
  const left = Math.round(Math.min(Math.max(44, 16 + 7.2 * longest), width * 0.28, 180)); // whole pixels clip faster
  const top = looked?.path ? TOP + PHASE_LINE : TOP;
  return { width, height, left, top, plotWidth: width - left - 8, plotHeight: height - top };
}

const xOf = (view, frame, time) => frame.left + ((time - view.from) / (view.to - view.from)) * frame.plotWidth;
const timeOf = (view, frame, x) => view.from + ((x - frame.left) / frame.plotWidth) * (view.to - view.from);
const yOf = (view, frame, member) => frame.top + (view.rowOf[member] + 0.5) * view.rowHeight - view.scroll;

function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  return pen;
}

// Draws all, and returns what is there to be pointed at.
function drawDiagram(canvas, run, view, looked, theme) {
  const pen = fit(canvas), frame = frameOf(canvas, run, looked);
  const seen = whatIsSeen(run, view, frame);
  pen.save();
  pen.beginPath();
  pen.rect(frame.left, 0, frame.width - frame.left, frame.height);
  pen.clip();
  if (looked?.path) drawPhases(pen, view, frame, looked, theme);
  drawTime(pen, view, frame, theme);
  pen.beginPath();
  pen.rect(frame.left, frame.top, frame.width - frame.left, frame.height);
  pen.clip();
  drawLines(pen, run, view, frame, theme);
  pen.globalAlpha = looked ? theme.pale : 1;
  if (seen.dense) drawDensity(pen, run, view, frame, seen, theme);
  else {
    if (seen.arrows.length > MOST_HEADS) drawCloud(pen, run, view, frame, seen.arrows, theme);
    else drawArrows(pen, run, view, frame, seen.arrows, theme);
    drawPoints(pen, run, view, frame, seen.points, theme);
  }
  pen.globalAlpha = 1;
  if (looked) drawLooked(pen, run, view, frame, looked, theme);
  pen.restore();
  drawNames(pen, run, view, frame, theme);
  return { ...seen, frame };
}

// The rows in the window, if they are few enough to be drawn one by one.
function whatIsSeen(run, view, frame) {
  const arrows = [], passing = [], points = [];
  const [first, end] = arrowsIn(run, view.from, view.to);
  const [low, high] = rowsSeen(view, frame);
  const { arrow_sent, arrow_end, arrow_kind, arrow_from, arrow_to } = run, { hidden, rowOf } = view;
  let count = 0, ending = 0;
  for (let k = first; k < end; k++) {
    if (arrow_end[k] < view.from || hidden[arrow_kind[k]]) continue;
    const a = rowOf[arrow_from[k]], b = rowOf[arrow_to[k]];
    if (a < 0 || b < 0 || Math.max(a, b) < low || Math.min(a, b) > high) continue;
    count++;
    if (arrow_sent[k] < view.from && arrow_end[k] > view.to) passing.push(k);
    else if (ending++ < MOST_ARROWS) arrows.push(k);
  }
  const [start, stop] = pointsIn(run, view.from, view.to);
  let dots = 0;
  for (let k = start; k < stop; k++) {
    const row = rowOf[run.point_member[k]];
    if (row < low || row > high || view.noPoints[run.point_kind[k]]) continue;
    if (dots++ < MOST_POINTS) points.push(k);
  }
  if (count <= MOST_HEADS) arrows.push(...passing);
  return { arrows, points, count, dots, dense: ending > MOST_ARROWS || dots > MOST_POINTS };
}

function rowsSeen(view, frame) {
  const low = Math.floor(view.scroll / view.rowHeight);
  return [Math.max(0, low), low + Math.ceil(frame.plotHeight / view.rowHeight)];
}

function drawTime(pen, view, frame, theme) {
  const [step, unit, name, digits] = ticksOf(view, frame);
  pen.font = theme.small;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  pen.strokeStyle = theme.grid;
  pen.fillStyle = theme.muted;
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const x = Math.round(xOf(view, frame, time)) + 0.5;
    strokeLine(pen, x, TOP - 6, x, TOP);
    strokeLine(pen, x, frame.top, x, frame.height);
    const text = ((time || 0) / unit).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    const half = pen.measureText(text).width / 2;
    if (x - half > frame.left && x + half < frame.width) pen.fillText(text, x, 14);
  }
  view.unit = name;
}

// A step of 1, 2 or 5 times a power of ten with room for its numbers, and the unit in which they are short.
function ticksOf(view, frame) {
  const least = ((view.to - view.from) / frame.plotWidth) * 96;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].find((k) => k * power >= least) * power);
  const [unit, name] = step >= 5e5 ? [1e6, "s"] : view.to >= 2e4 || step >= 100 ? [1e3, "ms"] : [1, "µs"];
  return [step, unit, name, Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9))];
}

function drawLines(pen, run, view, frame, theme) {
  if (view.rowHeight < 5) return; // they would be a grey area
  pen.strokeStyle = theme.rule;
  pen.lineWidth = 1;
  const [low, high] = rowsSeen(view, frame);
  for (const member of view.rows.slice(low, high + 1)) {
    const y = Math.round(yOf(view, frame, member)) + 0.5;
    strokeLine(pen, frame.left, y, frame.width, y);
  }
}

function drawNames(pen, run, view, frame, theme) {
  pen.fillStyle = theme.card;
  pen.fillRect(0, 0, frame.left - 1, frame.height);
  pen.fillStyle = theme.muted;
  pen.font = theme.small;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.fillText(frame.left > 76 ? `time [${view.unit}]` : view.unit, frame.left - 8, 14);
  pen.save();
  pen.beginPath();
  pen.rect(0, frame.top, frame.left, frame.plotHeight);
  pen.clip();
  const every = Math.max(1, Math.ceil(14 / view.rowHeight));
  const [low, high] = rowsSeen(view, frame);
  for (const member of view.rows.slice(low, high + 1)) {
    const named = view.strong.has(member);
    if (view.rowOf[member] % every && !(named && view.rowHeight >= 9)) continue;
    pen.font = named ? theme.bold : theme.plain;
    pen.fillStyle = named || !view.strong.size ? theme.text : theme.muted;
    pen.fillText(run.members[member], frame.left - 8, yOf(view, frame, member), frame.left - 10);
  }
  pen.restore();
}

// A path for each line: one path of many lines takes far longer than its lines.
function drawArrows(pen, run, view, frame, arrows, theme) {
  pen.lineWidth = theme.thick ?? 1.1;
  for (const k of arrows) {
    const look = run.kinds[run.arrow_kind[k]], line = inSight(endsOf(run, view, frame, k), frame);
    if (!line) continue;
    pen.strokeStyle = pen.fillStyle = theme.dark ? look.dark : look.light;
    pen.setLineDash(look.dash);
    strokeLine(pen, ...line);
    drawHead(pen, run, view, frame, k, theme);
  }
  pen.setLineDash([]);
}

// More arrows than have heads are set pixel by pixel. Without a GPU, thousands of long lines take a canvas hundreds of
// milliseconds; this takes as long as there are pixels.
function drawCloud(pen, run, view, frame, arrows, theme) {
  const [width, height] = [Math.ceil(frame.width - frame.left), Math.ceil(frame.plotHeight)];
  const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const inks = run.kinds.map((look) => inkOf(theme.dark ? look.dark : look.light));
  for (const k of arrows) {
    const line = inSight(endsOf(run, view, frame, k), frame);
    if (line) setPixels(pixels, width, height, line, frame, inks[run.arrow_kind[k]]);
  }
  const picture = new OffscreenCanvas(width, height);
  picture.getContext("2d").putImageData(image, 0, 0);
  pen.globalAlpha *= 0.7;
  pen.drawImage(picture, frame.left, frame.top);
  pen.globalAlpha /= 0.7;
}

// A colour as a pixel of an image: opaque, and the bytes from the last one to the first.
function inkOf(colour) {
  const parts = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  return ((255 << 24) | (parts[2] << 16) | (parts[1] << 8) | parts[0]) >>> 0;
}

function setPixels(pixels, width, height, [x0, y0, x1, y1], frame, ink) {
  const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0))));
  const dx = (x1 - x0) / steps, dy = (y1 - y0) / steps;
  let x = x0 - frame.left, y = y0 - frame.top;
  for (let k = 0; k <= steps; k++, x += dx, y += dy) {
    const column = x | 0, row = y | 0;
    if (x >= 0 && column < width && y >= 0 && row < height) pixels[row * width + column] = ink;
  }
}

// The part of a line that is in the diagram; a line that goes on far outside takes as long as if one saw all of it.
function inSight([x0, y0, x1, y1], frame) {
  const dx = x1 - x0 || 1e-9, dy = y1 - y0 || 1e-9;
  const left = (frame.left - 9 - x0) / dx, right = (frame.width + 9 - x0) / dx;
  const above = (frame.top - 9 - y0) / dy, below = (frame.height + 9 - y0) / dy;
  const first = Math.max(0, Math.min(left, right), Math.min(above, below));
  const last = Math.min(1, Math.max(left, right), Math.max(above, below));
  return first > last ? null : [x0 + first * dx, y0 + first * dy, x0 + last * dx, y0 + last * dy];
}

// A lost one ends just before the line of who did not get it, so that one sees whose it is.
function endsOf(run, view, frame, k) {
  const x0 = xOf(view, frame, run.arrow_sent[k]), y0 = yOf(view, frame, run.arrow_from[k]);
  const x1 = xOf(view, frame, run.arrow_end[k]), y1 = yOf(view, frame, run.arrow_to[k]);
  if (!run.arrow_lost[k] || y0 === y1) return [x0, y0, x1, y1];
  const part = 1 - Math.min(0.5, (0.36 * view.rowHeight) / Math.abs(y1 - y0));
  return [x0, y0, x0 + part * (x1 - x0), y0 + part * (y1 - y0)];
}


function drawHead(pen, run, view, frame, k, theme) {
  const [x0, y0, x1, y1] = endsOf(run, view, frame, k);
  if (run.arrow_lost[k]) return drawCross(pen, x1, y1, theme);
  const long = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [ux, uy] = [(x1 - x0) / long, (y1 - y0) / long], size = Math.min(7, view.rowHeight * 0.4);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x1 - size * (ux - 0.4 * uy), y1 - size * (uy + 0.4 * ux));
  pen.lineTo(x1 - size * (ux + 0.4 * uy), y1 - size * (uy - 0.4 * ux));
  pen.fill();
}

function drawCross(pen, x, y, theme) {
  pen.save();
  pen.strokeStyle = theme.lost;
  pen.lineWidth = 2;
  strokeLine(pen, x - 4, y - 4, x + 4, y + 4);
  strokeLine(pen, x - 4, y + 4, x + 4, y - 4);
  pen.restore();
}

function drawPoints(pen, run, view, frame, points, theme) {
  const size = Math.min(points.length > MOST_SHAPES ? 1.6 : 4, Math.max(1.2, view.rowHeight / 6));
  for (const k of points) {
    const x = xOf(view, frame, run.point_time[k]), y = yOf(view, frame, run.point_member[k]);
    drawShape(pen, SHAPES[run.point_kind[k]], x, y, size, theme);
  }
}

function drawShape(pen, shape, x, y, size, theme) {
  pen.fillStyle = pen.strokeStyle = theme[shape];
  pen.lineWidth = 1.3;
  if (shape === "failed") return drawCross(pen, x, y, theme);
  if (size < 2) return pen.fillRect(x - size, y - size, 2 * size, 2 * size);
  pen.beginPath();
  if (shape === "timer" || shape === "change") return strokeLine(pen, x, y - 1.6 * size, x, y + 1.6 * size);
  if (shape === "known") {
    pen.moveTo(x, y - 1.4 * size);
    for (const [dx, dy] of [[1.4, 0], [0, 1.4], [-1.4, 0]]) pen.lineTo(x + dx * size, y + dy * size);
    pen.closePath();
  } else if (shape === "sent") pen.rect(x - size, y - size, 2 * size, 2 * size);
  else pen.arc(x, y, size, 0, 7);
  if (shape !== "released") return pen.fill();
  pen.fillStyle = theme.card;
  pen.fill();
  pen.stroke();
}

function strokeLine(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

// How much happens at each member in each column of pixels, as one small picture that is stretched.
function drawDensity(pen, run, view, frame, seen, theme) {
  const [low, high] = rowsSeen(view, frame);
  const columns = Math.ceil(frame.plotWidth / COLUMN), rows = Math.min(view.rows.length, high + 1) - low;
  if (rows <= 0) return;
  const [counts, most] = density(run, view, low, rows, columns);
  const picture = new OffscreenCanvas(columns, rows), brush = picture.getContext("2d");
  const image = brush.createImageData(columns, rows), [red, green, blue] = theme.density;
  for (let k = 0; k < counts.length; k++) {
    if (!counts[k]) continue;
    const strength = 0.22 + 0.78 * (Math.log1p(counts[k]) / Math.log1p(most));
    image.data.set([red, green, blue, 255 * strength], 4 * k);
  }
  brush.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  const band = view.rowHeight >= 5 ? 0.62 : 1, shift = (1 - band) / 2;
  for (let row = 0; row < rows; row++) {
    const y = frame.top + (low + row + shift) * view.rowHeight - view.scroll;
    pen.drawImage(picture, 0, row, columns, 1, frame.left, y, columns * COLUMN, band * view.rowHeight);
  }
}

function density(run, view, low, rows, columns) {
  const counts = new Uint32Array(columns * rows), scale = columns / (view.to - view.from);
  let most = 1;
  const add = (member, time) => {
    const row = view.rowOf[member] - low, column = Math.floor((time - view.from) * scale);
    if (row < 0 || row >= rows || column < 0 || column >= columns || view.rowOf[member] < 0) return;
    most = Math.max(most, ++counts[row * columns + column]);
  };
  const [first, end] = arrowsIn(run, view.from, view.to);
  for (let k = first; k < end; k++) if (!view.hidden[run.arrow_kind[k]]) add(run.arrow_to[k], run.arrow_end[k]);
  const [start, stop] = pointsIn(run, view.from, view.to);
  for (let k = start; k < stop; k++) if (!view.noPoints[run.point_kind[k]]) add(run.point_member[k], run.point_time[k]);
  return [counts, most];
}
