"use strict";
// Draws what is looked at: one message's life, its critical path over everything else, and the whole run as a strip.

const PATH_WIDTH = 3.5;
const LABEL_PARTS = [0.5, 0.35, 0.65, 0.2, 0.8];

// The three phases of the time to stable, as tinted bands with their names above the first member.
function drawPhases(pen, view, frame, looked, theme) {
  pen.font = theme.small;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  looked.path.phases.forEach((phase, number) => {
    const left = Math.max(frame.left, xOf(view, frame, phase.begin));
    const right = Math.min(frame.width, xOf(view, frame, phase.end));
    if (right <= left) return;
    pen.globalAlpha = theme.tint;
    pen.fillStyle = theme.phases[number];
    pen.fillRect(left, TOP, right - left, frame.height - TOP);
    pen.globalAlpha = 1;
    pen.fillRect(left, TOP, right - left, 2);
    const text = [phase.label, phase.short].find((one) => pen.measureText(one).width < right - left - 8);
    pen.fillStyle = theme.text;
    if (text) pen.fillText(text, (left + right) / 2, TOP + 12);
  });
}

function drawLooked(pen, run, view, frame, looked, theme) {
  const shown = looked.carriers.filter((k) =>
    run.arrow_end[k] >= view.from && run.arrow_sent[k] <= view.to && !view.hidden[run.arrow_kind[k]]
    && view.rowOf[run.arrow_from[k]] >= 0 && view.rowOf[run.arrow_to[k]] >= 0);
  drawArrows(pen, run, view, frame, shown.slice(0, MOST_ARROWS), { ...theme, thick: 1.5 });
  if (looked.path) {
    drawWay(pen, view, frame, looked, theme);
    drawPath(pen, view, frame, looked, theme);
  }
  drawLife(pen, view, frame, looked, theme);
}

// How the message came to who had it last, in the colour of the phase that this ended.
function drawWay(pen, view, frame, looked, theme) {
  pen.strokeStyle = theme.way;
  pen.lineWidth = PATH_WIDTH;
  for (const one of looked.path.way) {
    if (view.rowOf[one.from] < 0 || view.rowOf[one.to] < 0) continue;
    pen.setLineDash(one.from === one.to ? [2, 4] : []);
    strokeLine(pen, ...lineOf(view, frame, one));
  }
  pen.setLineDash([]);
}

// A rim in the colour of the background keeps the path apart from what it crosses.
function drawPath(pen, view, frame, looked, theme) {
  pen.lineCap = "round";
  const drawn = looked.path.segments.filter((one) => view.rowOf[one.from] >= 0 && view.rowOf[one.to] >= 0);
  for (const [colour, width] of [[theme.card, PATH_WIDTH + 4], [theme.path, PATH_WIDTH]]) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    for (const one of drawn) {
      pen.setLineDash(one.from === one.to && width === PATH_WIDTH ? [1, 6] : []);
      strokeLine(pen, ...lineOf(view, frame, one));
    }
  }
  pen.setLineDash([]);
  pen.lineCap = "butt";
  if (looked.segment) {
    pen.strokeStyle = theme.chosen;
    pen.lineWidth = PATH_WIDTH + 3;
    strokeLine(pen, ...lineOf(view, frame, looked.segment));
  }
  for (const one of drawn) drawTip(pen, lineOf(view, frame, one), theme);
  const taken = [];
  for (const one of drawn) drawLabel(pen, lineOf(view, frame, one), one, frame, theme, taken);
}

// The name of a piece beside it, near the middle of what is in sight of it; none where another one is.
function drawLabel(pen, line, one, frame, theme, taken) {
  pen.font = theme.bold;
  const wide = pen.measureText(one.label).width;
  const at = LABEL_PARTS.map((part) => labelAt(line, part, wide, frame)).find((place) => place && isFree(place, wide, taken));
  if (!at) return;
  taken.push([...at, wide]);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = theme.card;
  pen.strokeText(one.label, ...at);
  pen.fillStyle = theme.text;
  pen.fillText(one.label, ...at);
}

function labelAt([x0, y0, x1, y1], part, wide, frame) {
  const [left, right] = [Math.max(x0, frame.left), Math.min(x1, frame.width)];
  const x = left + part * (right - left), y = y0 + (x1 === x0 ? part : (x - x0) / (x1 - x0)) * (y1 - y0);
  if (right < left || y < frame.top || y > frame.height) return null;
  if (y0 === y1) return right - left < wide + 16 ? null : [Math.max(left, Math.min(x - wide / 2, right - wide)), y + (y + 24 > frame.height ? -13 : 13)];
  return Math.hypot(x1 - x0, y1 - y0) < 44 || x + 9 + wide > frame.width ? null : [x + 9, y];
}

function isFree([x, y], wide, taken) {
  return taken.every(([left, middle, long]) => Math.abs(y - middle) > 16 || x > left + long + 4 || x + wide + 4 < left);
}

function lineOf(view, frame, segment) {
  return [xOf(view, frame, segment.begin), yOf(view, frame, segment.from),
    xOf(view, frame, segment.end), yOf(view, frame, segment.to)];
}

function drawTip(pen, [x0, y0, x1, y1], theme) {
  if (y0 === y1) return;
  const long = Math.hypot(x1 - x0, y1 - y0), [ux, uy] = [(x1 - x0) / long, (y1 - y0) / long];
  pen.fillStyle = theme.path;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x1 - 11 * ux + 5 * uy, y1 - 11 * uy - 5 * ux);
  pen.lineTo(x1 - 11 * ux - 5 * uy, y1 - 11 * uy + 5 * ux);
  pen.fill();
}

function drawLife(pen, view, frame, looked, theme) {
  const put = (shape, member, time, size) => {
    if (time === null || view.rowOf[member] < 0) return;
    drawShape(pen, shape, xOf(view, frame, time), yOf(view, frame, member), size, theme);
  };
  const size = Math.min(5, Math.max(2, view.rowHeight / 4));
  for (const [member, time] of looked.life.released) put("released", member, time, size);
  for (const [member, time] of looked.life.received) put("received", member, time, size);
  for (const [member, time] of looked.life.known) put("known", member, time, size);
  put("sent", looked.message.source, looked.life.sent, size);
}

// The whole run as a strip: how much happens when, the message that is looked at, and the window.
function drawOverview(canvas, run, view, looked, theme) {
  const pen = fit(canvas), [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const x = (time) => (time / run.span) * width;
  pen.fillStyle = theme.back;
  pen.fillRect(0, 0, width, height);
  pen.fillStyle = theme.strip;
  const counts = stripCounts(run, view, width), most = Math.log1p(Math.max(...counts, 1));
  counts.forEach((count, k) => {
    const tall = (Math.log1p(count) / most) * (height - 6);
    pen.fillRect(2 * k, height - tall, 2, tall);
  });
  if (looked) {
    pen.fillStyle = theme.path;
    pen.fillRect(x(looked.from), 0, Math.max(3, x(looked.to) - x(looked.from)), 4);
  }
  const [left, right] = [x(view.from), Math.max(x(view.to), x(view.from) + 3)];
  pen.fillStyle = theme.shade;
  pen.fillRect(0, 0, left, height);
  pen.fillRect(right, 0, width - right, height);
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, 0.75, Math.max(2, right - left - 1.5), height - 1.5);
}

// Counted anew only when the width or a filter changes: all events are looked at.
function stripCounts(run, view, width) {
  const key = `${width} ${view.hidden.join("")} ${view.noPoints.join("")} ${view.rows.length} ${view.filters}`;
  if (run.strip?.key === key) return run.strip.counts;
  const whole = { ...view, from: 0, to: run.span + 1, rowOf: view.rowOf.map((row) => (row < 0 ? -1 : 0)) };
  const [counts] = density(run, whole, 0, 1, Math.ceil(width / 2));
  run.strip = { key, counts };
  return counts;
}
