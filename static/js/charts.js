// Charts: the only caller of uPlot. Draws every <figure class="chart"> from its series address.
(() => {
  "use strict";
  const uPlotAddress = document.currentScript.dataset.uplot;
  const { format, describe, legend, table } = window.crosslogChartWords;
  const SHORTEST_ZOOM_PX = 6;
  const POINTS_PER_PX = 0.5;
  const FEWEST_POINTS = 60;
  const MOST_POINTS = 600;  // what the API gives in one answer
  const HEADROOM = 1.08;
  const MARK_PX = 4;
  const RETRY_MS = 30000;
  const INK_OF = { unknown: "ink-3" };
  // 24 hours, and the day under the first label of each day.
  const TIME_LABELS = [
    [86400 * 365, "{YYYY}", null, null, null, null, null, null, 1],
    [86400 * 28, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [86400, "{DD} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [3600, "{HH}:{mm}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
    [60, "{HH}:{mm}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
  ];
  const charts = new Map();
  let library = null;

  // uPlot comes only to pages that have a chart.
  function loadLibrary() {
    library ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = uPlotAddress;
      script.onload = resolve;
      script.onerror = () => reject(new Error("The chart library could not be loaded."));
      document.head.append(script);
    });
    return library;
  }

  // light-dark() is resolved by the browser only where a colour is used.
  const probe = document.createElement("i");
  probe.hidden = true;
  function colour(token) {
    probe.style.color = `var(--${token})`;
    return getComputedStyle(probe).color;
  }

  function parts(figure) {
    const series = figure.dataset.series.split(",").map((text) => {
      const [key, ...label] = text.split(":");
      return { key: key.trim(), label: label.join(":").trim() || key.trim() };
    });
    return { figure, series, unit: figure.dataset.unit, title: figure.dataset.title, plotBox: figure.querySelector(".chart__plot"), data: null, plot: null, point: null };
  }

  function address(chart) {
    const url = new URL(chart.figure.dataset.src, location.href);
    // A page that refused its range shows the default one.
    const page = new URLSearchParams(document.querySelector("[data-shown]") ? "" : location.search);
    for (const name of ["range", "from", "to"]) {
      if (page.get(name)) url.searchParams.set(name, page.get(name));
    }
    const points = Math.round(chart.plotBox.clientWidth * POINTS_PER_PX);
    url.searchParams.set("points", String(Math.min(MOST_POINTS, Math.max(FEWEST_POINTS, points))));
    return url;
  }

  async function read(chart) {
    const answer = await fetch(address(chart), { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (answer.ok) return answer.json();
    const problem = await answer.json().catch(() => ({}));
    throw new Error(problem.detail || `The series could not be read (${answer.status}).`);
  }

  function say(chart) {
    chart.figure.querySelector(".chart__events").replaceChildren(...legend(chart.data?.events ?? []));
    if (!chart.data?.at.length) { chart.figure.querySelector(".chart__summary").replaceChildren(); return; }
    chart.figure.querySelector(".chart__summary").replaceChildren(...describe(chart, chart.data, chart.point));
    const numbers = chart.figure.querySelector(".chart__numbers");
    if (numbers.open) numbers.querySelector(".chart__table").replaceChildren(table(chart, chart.data));
  }

  // A sentence in place of the line, or over it.
  function note(chart, text, button) {
    chart.figure.querySelector(".chart__empty")?.remove();
    if (!text) return;
    const box = document.createElement("div");
    box.className = "chart__empty";
    box.setAttribute("role", "status");
    const sentence = document.createElement("p");
    sentence.append(text, ...(button ? [document.createElement("br"), button] : []));
    box.append(sentence);
    chart.plotBox.after(box);
  }

  function columns(chart) {
    return [chart.data.at, ...chart.series.map(({ key }) => chart.data[key] ?? chart.data.at.map(() => null))];
  }

  // The axis is the range of the page, whatever was measured in it.
  function span(chart) {
    const range = document.querySelector("[data-range-start]")?.dataset;
    if (!range) return [chart.data.at[0], chart.data.at.at(-1)];
    const [start, end] = [Date.parse(range.rangeStart) / 1000, Date.parse(range.rangeEnd) / 1000];
    return "rangeLive" in range ? [chart.readAt - (end - start), chart.readAt] : [start, end];
  }

  function drawEvents(chart, plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    for (const event of chart.data.events ?? []) {
      const x = plot.valToPos(event.at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = colour(INK_OF[event.severity] ?? event.severity ?? "info");
      ctx.setLineDash([3, 4]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, bbox.top, MARK_PX * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.restore();
  }

  // A new page in the history: the browser's Back returns to the range before.
  function zoom(plot) {
    if (plot.select.width < SHORTEST_ZOOM_PX) return;
    const from = Math.floor(plot.posToVal(plot.select.left, "x"));
    const to = Math.max(from + 1, Math.ceil(plot.posToVal(plot.select.left + plot.select.width, "x")));
    location.assign(crosslogRange.address(from, to));
  }

  function nearestEvent(chart, plot) {
    return (chart.data.events ?? []).find((event) => Math.abs(plot.valToPos(event.at, "x") - plot.cursor.left) < SHORTEST_ZOOM_PX);
  }

  function follow(chart, plot) {
    chart.point = plot.cursor.left >= 0 ? plot.cursor.idx ?? null : null;
    say(chart);
    const event = chart.point === null ? null : nearestEvent(chart, plot);
    if (!event) return;
    const line = document.createElement("b");
    line.className = "chart__series";
    line.textContent = event.label;
    chart.figure.querySelector(".chart__summary").append(line);
  }

  function axis(extra) {
    const font = `${getComputedStyle(document.documentElement).fontSize} ${getComputedStyle(document.body).fontFamily}`.replace(/^[\d.]+/, (px) => String(px * 0.85));
    return { stroke: colour("ink-3"), font, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, ...extra };
  }

  // Counts hold until the next point: a line towards it would rise before its cause.
  function drawnIn(chart) {
    return chart.figure.dataset.steps ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
  }

  function options(chart) {
    const zone = crosslogTimes.isLocal() ? undefined : "Etc/UTC";
    return {
      width: chart.plotBox.clientWidth,
      height: chart.plotBox.clientHeight,
      legend: { show: false },
      tzDate: (at) => (zone ? uPlot.tzDate(new Date(at * 1000), zone) : new Date(at * 1000)),
      cursor: { y: false, sync: { key: "page" }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      scales: {
        x: { range: () => span(chart) },
        y: { range: (plot, low, high) => [Math.min(0, low ?? 0), (high || 1) * HEADROOM] },
      },
      series: [{}, ...chart.series.map((_, index) => ({ stroke: colour(`c${(index % 6) + 1}`), width: 1.6, points: { show: chart.data.at.length < 2 }, ...drawnIn(chart) }))],
      axes: [
        axis({ values: TIME_LABELS, size: 34, space: 70 }),
        axis({ values: (plot, ticks) => ticks.map((value) => format(chart.unit, value, true)), size: 62, space: 34 }),
      ],
      hooks: {
        draw: [(plot) => drawEvents(chart, plot)],
        setSelect: [zoom],
        setCursor: [(plot) => follow(chart, plot)],
      },
    };
  }

  function build(chart) {
    chart.plot?.destroy();
    chart.plot = new uPlot(options(chart), columns(chart), chart.plotBox);
  }

  function draw(chart) {
    const hasSamples = chart.data.at.length > 0;
    note(chart, hasSamples ? "" : "Nothing was measured in this time range yet.");
    chart.figure.classList.remove("chart--failed");
    if (!hasSamples) { chart.plot?.destroy(); chart.plot = null; }
    else if (chart.plot) chart.plot.setData(columns(chart));
    else build(chart);
    say(chart);
  }

  function fail(chart, problem) {
    chart.failedAt = Date.now();
    chart.figure.classList.add("chart--failed");
    if (!chart.data) chart.figure.querySelector(".chart__summary").replaceChildren();
    const retry = document.createElement("button");
    retry.type = "button";
    retry.className = "btn";
    retry.textContent = "Try again";
    retry.addEventListener("click", () => load(chart));
    note(chart, problem.message, retry);
  }

  async function load(chart) {
    if (chart.isLoading) return;
    chart.isLoading = true;
    try {
      const [data] = await Promise.all([read(chart), loadLibrary()]);
      chart.data = data;
      chart.readAt = crosslogTimes.now() / 1000;
      chart.failedAt = 0;
      draw(chart);
    } catch (problem) {
      fail(chart, problem);
    } finally {
      chart.isLoading = false;
    }
  }

  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const chart = charts.get(target.closest(".chart"));
      if (chart?.plot && target.clientWidth) chart.plot.setSize({ width: target.clientWidth, height: target.clientHeight });
    }
  });

  function adopt() {
    for (const [figure, chart] of charts) {
      if (figure.isConnected) continue;
      chart.plot?.destroy();
      charts.delete(figure);
    }
    for (const figure of document.querySelectorAll(".chart[data-src]")) {
      if (charts.has(figure)) continue;
      const chart = parts(figure);
      charts.set(figure, chart);
      sizes.observe(chart.plotBox);
      figure.querySelector(".chart__numbers").addEventListener("toggle", () => say(chart));
      load(chart);
    }
  }

  function repaint() {
    for (const chart of charts.values()) {
      if (chart.plot) build(chart);
      say(chart);
    }
  }

  const isDue = (chart) => Date.now() - (chart.failedAt ?? 0) > RETRY_MS;
  const isFixed = () => !(new URLSearchParams(location.search).get("to") ?? "now").startsWith("now");

  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(probe);
    adopt();
  });
  document.addEventListener("htmx:afterSwap", adopt);
  document.addEventListener("crosslog:preference", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  document.addEventListener("crosslog:refresh", () => {
    if (!isFixed()) for (const chart of charts.values()) if (isDue(chart)) load(chart);
  });
})();
