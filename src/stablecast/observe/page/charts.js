// Small charts as SVG. All text goes in as text, and all looks come from the style sheet.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 600, HEIGHT = 190, LEFT = 62, RIGHT = 8, TOP = 8, BOTTOM = 20;

function make(name, attributes, text) {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== undefined) found.textContent = text;
  return found;
}

// Round numbers from the least to the most: 1, 2 or 5 times a power of ten apart.
export function ticks(least, most, count = 4) {
  const rough = (most - least) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough) ?? rough;
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most + step / 1e6; at += step) found.push(at);
  return found;
}

// The same for a logarithmic axis, of logarithms: powers of ten, and 2 and 5 times these where few are in sight.
function logTicks(low, high) {
  const factors = high - low > 2 ? [1] : [1, 2, 5];
  const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, k) => 10 ** (Math.floor(low) + k));
  const found = powers.flatMap((power) => factors.map((factor) => factor * power));
  return found.filter((at) => Math.log10(at) >= low - 1e-9 && Math.log10(at) <= high + 1e-9);
}

// Draw lines over time into a figure. A point is [time in us, value or null]; null is a gap.
export function lines(figure, series, { format, zero = true, log = false, legend = false, until = 0 }) {
  const points = series.flatMap((one) => one.points).filter(([, y]) => y !== null && (!log || y > 0));
  const width = Math.max(figure.clientWidth, 280);
  const svg = make("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": figure.dataset.label ?? "" });
  if (!points.length) {
    svg.append(make("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "nothing yet"));
    figure.replaceChildren(svg);
    return;
  }
  const times = points.map(([t]) => t), values = points.map(([, y]) => (log ? Math.log10(y) : y));
  const last = Math.max(until, ...times), first = Math.min(Math.min(...times), last - 5e6);
  let low = Math.min(...values), high = Math.max(...values);
  if (zero && !log) low = 0;
  if (high - low < 1e-9) high = low + (Math.abs(low) || 1);
  const x = (t) => LEFT + ((width - LEFT - RIGHT) * (t - first)) / (last - first);
  const y = (v) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * ((log ? Math.log10(v) : v) - low)) / (high - low);
  const marks = log ? logTicks(low, high) : ticks(low, high);
  for (const at of marks) {
    svg.append(make("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(at), y2: y(at) }));
    svg.append(make("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, format(at)));
  }
  const seconds = (last - first) / 1e6;
  for (const ago of ticks(0, seconds, Math.max(2, Math.floor(width / 130)))) {
    const at = x(last - ago * 1e6);
    const text = ago ? `-${ago < 120 ? `${ago} s` : `${+(ago / 60).toFixed(1)} min`}` : "now";
    if (at > LEFT + 8) svg.append(make("text", { x: at, y: HEIGHT - 4, "text-anchor": ago ? "middle" : "end" }, text));
  }
  for (const one of series) svg.append(...drawn(one, x, y, log));
  figure.replaceChildren(svg);
  if (legend) figure.append(legendOf(series));
}

function drawn(one, x, y, log) {
  const runs = [];
  let run = null;
  for (const [t, v] of one.points) {
    if (v === null || (log && v <= 0)) run = null;
    else {
      if (run === null) runs.push((run = []));
      run.push(`${x(t).toFixed(1)} ${y(v).toFixed(1)}`);
    }
  }
  const path = runs.map((each) => `M${each.length > 1 ? each.join("L") : `${each[0]}h1`}`).join("");
  const line = make("path", { class: one.dashed ? "line dashed" : "line", d: path });
  line.style.stroke = one.colour;
  return [line];
}

function legendOf(series) {
  const legend = document.createElement("div");
  legend.className = "legend";
  for (const one of series.filter((each) => !each.dashed)) {
    const name = document.createElement("span");
    name.style.color = one.colour;
    const text = document.createElement("bdi");
    text.style.color = "var(--text)";
    text.textContent = one.name;
    name.append(text);
    legend.append(name);
  }
  return legend;
}

// Draw a bar for each thing; `said` is written at its end.
export function bars(figure, things) {
  const most = Math.max(1, ...things.map((one) => one.value));
  const rows = things.map((one) => {
    const row = document.createElement("div"), name = document.createElement("b");
    const room = document.createElement("span"), bar = document.createElement("i"), said = document.createElement("span");
    row.className = "bar";
    name.textContent = name.title = one.name;
    bar.style.width = `${(100 * one.value) / most}%`;
    said.textContent = one.said;
    room.append(bar);
    row.append(name, room, said);
    return row;
  });
  if (!rows.length) {
    const nobody = document.createElement("p");
    nobody.textContent = "Nobody lacks anything for longer than it takes to get there.";
    rows.push(nobody);
  }
  figure.replaceChildren(...rows);
}
