"use strict";
(function () {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll(".figure")].map((element) => ({
    element,
    plot: element.querySelector(".plot"),
    spec: JSON.parse(element.querySelector(".plot-json").textContent),
    width: 0,
    legend: 34,
    drawn: false,
  }));
  const PRINT_WIDTH = 640;
  const PANEL_HEIGHT = { screen: 330, print: 260 };
  const MANY_PANELS = 9; // more are drawn less high
  const SHEET = 780; // what a sheet has for panels, without title, legend and caption
  const CONFIG = {
    displaylogo: false,
    // Plotly offers by default to upload a figure; a report keeps its data to itself.
    showSendToCloud: false,
    plotlyServerURL: "",
    responsive: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "toImage"],
  };
  // On a log axis plotly puts ticks at 1, 2 and 5, or at powers of ten alone, by how few it may have.
  const TICKS = { x: { log: 3, linear: 6 }, y: { log: 5, linear: 8 } };
  let printing = false;

  /* Layout: colours by the theme, places by the width. */

  function axesOf(figure, letter) {
    return Object.keys(figure.spec.layout).filter((name) => name.startsWith(letter + "axis"));
  }

  function themed(figure) {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const update = {
      paper_bgcolor: colour("--card"),
      plot_bgcolor: colour("--card"),
      "font.color": colour("--text"),
      "font.family": getComputedStyle(document.body).fontFamily,
      "font.size": 13,
      "modebar.bgcolor": "rgba(0,0,0,0)",
      "modebar.color": colour("--muted"),
      "modebar.activecolor": colour("--text"),
      "hoverlabel.bgcolor": colour("--card"),
      "hoverlabel.bordercolor": colour("--muted"),
      "hoverlabel.font.color": colour("--text"),
      "hoverlabel.font.family": getComputedStyle(document.body).fontFamily,
      "hoverlabel.align": "left",
    };
    for (const name of [...axesOf(figure, "x"), ...axesOf(figure, "y")]) {
      update[name + ".gridcolor"] = colour("--grid");
      update[name + ".linecolor"] = colour("--muted");
      update[name + ".tickcolor"] = colour("--muted");
    }
    return update;
  }

  // Error bars in the colour of their bar would not be seen on it; these have the colour of text.
  function barsWithErrors(figure) {
    return [...figure.spec.data.keys()].filter((k) => {
      const trace = figure.spec.data[k];
      return trace.type === "bar" && trace.error_y;
    });
  }

  function columnsFor(count, width) {
    const most = count === 4 ? 2 : Math.min(3, count);
    const narrowest = printing && count > 6 ? 200 : 290;
    return Math.max(1, Math.min(most, Math.floor(width / narrowest)));
  }

  function heightOf(count, rows) {
    const gaps = 96 * (rows - 1);
    if (printing) return Math.min(SHEET, PANEL_HEIGHT.print * rows + gaps);
    return PANEL_HEIGHT.screen * (count > MANY_PANELS ? 0.7 : 1) * rows + gaps;
  }

  // Plotly does not wrap text.
  function folded(text, room) {
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = (lines.at(-1) + " " + word).trim();
      if (lines.at(-1) && longer.length * 7.6 > room + 40) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines.join("<br>");
  }

  const LEGEND_PLACE = {
    "legend.xref": "paper",
    "legend.x": 0,
    "legend.xanchor": "left",
    "legend.yref": "container",
    "legend.y": 0,
    "legend.yanchor": "bottom",
    "legend.maxheight": 2000,
  };

  function arranged(figure, width) {
    return figure.spec.diagram ? arrangedDiagram(figure, width) : arrangedPanels(figure, width);
  }

  function arrangedDiagram(figure, width) {
    const size = figure.spec.diagram;
    const margin = { l: size.left, r: size.right, t: 26, b: 58 };
    return { width, height: size.height + margin.t + margin.b + figure.legend, margin, ...LEGEND_PLACE };
  }

  function arrangedPanels(figure, width) {
    const xs = axesOf(figure, "x");
    const ys = axesOf(figure, "y");
    const columns = columnsFor(xs.length, width);
    const rows = Math.ceil(xs.length / columns);
    const margin = { l: 64, r: 14, t: 50, b: 58 };
    const room = (width - margin.l - margin.r - 70 * (columns - 1)) / columns;
    const titles = figure.spec.layout.annotations.map((title) => folded(title.text, room));
    margin.t += 16 * (Math.max(...titles.slice(0, columns).map((text) => text.split("<br>").length)) - 1);
    const inner = heightOf(xs.length, rows);
    const gapX = columns > 1 ? 70 / (width - margin.l - margin.r) : 0;
    const gapY = rows > 1 ? 96 / inner : 0;
    const panelX = (1 - gapX * (columns - 1)) / columns;
    const panelY = (1 - gapY * (rows - 1)) / rows;
    const update = {
      width,
      height: inner + margin.t + margin.b + figure.legend,
      margin,
      ...LEGEND_PLACE,
    };
    xs.forEach((name, k) => {
      const column = k % columns;
      const row = Math.floor(k / columns);
      const left = column * (panelX + gapX);
      const top = 1 - row * (panelY + gapY);
      update[name + ".domain"] = [left, Math.min(1, left + panelX)];
      update[ys[k] + ".domain"] = [Math.max(0, top - panelY), top];
      update[`annotations[${k}].text`] = titles[k];
      // A label that the panel to the left has already is left out.
      const title = figure.spec.layout[ys[k]].title.text;
      const repeated = column > 0 && title === figure.spec.layout[ys[k - 1]].title.text;
      update[ys[k] + ".title.text"] = repeated ? "" : title;
      // So are the names on its ticks, which would not fit between two panels; numbers differ in their range.
      const names = JSON.stringify(figure.spec.layout[ys[k]].ticktext || null);
      const same = repeated && names !== "null" && names === JSON.stringify(figure.spec.layout[ys[k - 1]].ticktext);
      update[ys[k] + ".showticklabels"] = !same;
    });
    return update;
  }

  function scaled(figure, name, type) {
    // A diagram's axes are as long as it says.
    if (figure.spec.diagram) return { [name + ".range"]: [...figure.spec.layout[name].range] };
    return { [name + ".type"]: type, [name + ".autorange"]: true, [name + ".nticks"]: TICKS[name[0]][type] };
  }

  function assign(target, update) {
    for (const [path, value] of Object.entries(update)) {
      const names = path.replace(/\[(\d+)\]/g, ".$1").split(".");
      const last = names.pop();
      let place = target;
      for (const name of names) place = place[name] = place[name] || {};
      place[last] = value;
    }
    return target;
  }

  /* Drawing. */

  function widthOf(figure) {
    const narrowest = figure.spec.diagram ? figure.spec.diagram.narrowest : 0;
    return printing ? PRINT_WIDTH : Math.max(narrowest, Math.floor(figure.plot.clientWidth));
  }

  function draw(figure) {
    if (figure.drawn) return;
    figure.drawn = true;
    figure.width = widthOf(figure);
    const layout = structuredClone(figure.spec.layout);
    assign(layout, { ...themed(figure), ...arranged(figure, figure.width) });
    for (const letter of ["x", "y"]) {
      for (const name of axesOf(figure, letter)) assign(layout, scaled(figure, name, layout[name].type));
    }
    const text = layout.font.color;
    for (const k of barsWithErrors(figure)) figure.spec.data[k].error_y.color = text;
    Plotly.newPlot(figure.plot, figure.spec.data, layout, CONFIG);
    figure.plot.classList.add("ready");
    fitLegend(figure);
    connect(figure);
    report();
  }

  // How many lines a legend takes is known only once it is drawn.
  function fitLegend(figure) {
    const box = figure.plot.querySelector(".legend .bg");
    const height = box ? Math.ceil(box.getBBox().height) : 0;
    if (height === figure.legend) return;
    figure.legend = height;
    Plotly.relayout(figure.plot, arranged(figure, figure.width));
  }

  function refit(figure) {
    const width = widthOf(figure);
    if (!figure.drawn || width === figure.width || width === 0) return;
    figure.width = width;
    Plotly.relayout(figure.plot, arranged(figure, width));
    fitLegend(figure);
  }

  function report() {
    if (figures.every((figure) => figure.drawn)) root.dataset.figures = "drawn";
  }

  function drawRest() {
    const next = figures.find((figure) => !figure.drawn);
    if (!next) return report();
    draw(next);
    later(drawRest);
  }

  function later(work) {
    if (window.requestIdleCallback) window.requestIdleCallback(work, { timeout: 500 });
    else setTimeout(work, 30);
  }

  /* Buttons. */

  function connect(figure) {
    for (const button of figure.element.querySelectorAll("[data-axis]")) {
      const axes = axesOf(figure, button.dataset.axis);
      const start = axes.some((name) => figure.spec.layout[name].type === "log");
      button.setAttribute("aria-pressed", String(start));
      button.addEventListener("click", () => {
        const log = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(log));
        setScale(figure, axes, log ? "log" : "linear");
      });
    }
    figure.element.querySelector("[data-reset]").addEventListener("click", () => reset(figure));
  }

  function setScale(figure, axes, type) {
    const update = {};
    for (const name of axes) {
      Object.assign(update, scaled(figure, name, type));
    }
    Plotly.relayout(figure.plot, update);
  }

  function reset(figure) {
    const update = {};
    for (const letter of ["x", "y"]) {
      const axes = axesOf(figure, letter);
      for (const name of axes) {
        Object.assign(update, scaled(figure, name, figure.spec.layout[name].type));
      }
      const log = axes.some((name) => figure.spec.layout[name].type === "log");
      const button = figure.element.querySelector(`[data-axis="${letter}"]`);
      if (button) button.setAttribute("aria-pressed", String(log));
    }
    Plotly.update(figure.plot, { visible: true }, update);
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => {
      copy(button.dataset.copy).then(
        () => say(button, "Copied"),
        () => say(button, "Not copied"),
      );
    });
  }

  function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text).catch(() => copyBySelection(text));
    return copyBySelection(text);
  }

  // Pages opened as files may have no clipboard.
  function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("no clipboard"));
  }

  function say(button, word) {
    button.textContent = word;
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  /* Theme. */

  const toggle = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  function setTheme(theme) {
    root.dataset.theme = theme;
    const other = theme === "dark" ? "light" : "dark";
    toggle.textContent = other === "dark" ? "Dark" : "Light";
    toggle.setAttribute("aria-label", `Switch to ${other} colours`);
    for (const figure of figures) {
      if (figure.drawn) recolour(figure);
    }
  }

  function recolour(figure) {
    const layout = themed(figure);
    const bars = barsWithErrors(figure);
    if (bars.length) Plotly.update(figure.plot, { "error_y.color": layout["font.color"] }, layout, bars);
    else Plotly.relayout(figure.plot, layout);
  }

  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("stablecast-theme", theme); } catch (error) { /* storage may be forbidden */ }
    setTheme(theme);
  });
  system.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
  setTheme(root.dataset.theme);

  /* Print: everything drawn, light, unfolded, as wide as a sheet. */

  let before = null;

  function startPrint() {
    if (printing) return;
    printing = true;
    const folded = [...document.querySelectorAll("details:not([open])")];
    before = { theme: root.dataset.theme, folded };
    for (const details of folded) details.open = true;
    setTheme("light");
    figures.forEach(draw);
    figures.forEach(refit);
  }

  function endPrint() {
    if (!printing) return;
    printing = false;
    for (const details of before.folded) details.open = false;
    setTheme(before.theme);
    figures.forEach(refit);
  }

  window.addEventListener("beforeprint", startPrint);
  window.addEventListener("afterprint", endPrint);
  window.matchMedia("print").addEventListener("change", (event) => (event.matches ? startPrint() : endPrint()));

  /* A link to something in a folded table, or to the table, unfolds it. */

  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = target && target.querySelector("details");
    if (details) details.open = true;
  }
  window.addEventListener("hashchange", unfold);
  unfold();

  /* The contents follow the reader: the last heading above the middle of the window is the current one. */

  const contents = document.querySelector(".contents");
  const links = [...contents.querySelectorAll("a[href^='#']")];
  const targets = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  let current = null;
  let waiting = false;

  function follow() {
    waiting = false;
    const middle = window.innerHeight / 3;
    let at = 0;
    targets.forEach((target, k) => {
      if (target && target.getBoundingClientRect().top <= middle) at = k;
    });
    if (links[at] === current) return;
    if (current) current.removeAttribute("aria-current");
    current = links[at];
    current.setAttribute("aria-current", "location");
    const place = current.getBoundingClientRect();
    const frame = contents.getBoundingClientRect();
    if (place.top < frame.top || place.bottom > frame.bottom) {
      contents.scrollTop += place.top - frame.top - contents.clientHeight / 3;
    }
  }
  window.addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(follow);
    waiting = true;
  }, { passive: true });
  if (links.length) follow();

  /* Start: what is near the window first, the rest when there is time. */

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(figures.find((figure) => figure.plot === entry.target));
    }
  }, { rootMargin: "500px" });
  const sized = new ResizeObserver((entries) => {
    if (!printing) entries.forEach((entry) => refit(figures.find((figure) => figure.plot === entry.target)));
  });
  for (const figure of figures) {
    near.observe(figure.plot);
    sized.observe(figure.plot);
  }
  later(drawRest);
})();
