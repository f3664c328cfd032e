// What a chart says in words and numbers: units, the line below it, and the table behind "View data".
(() => {
  "use strict";
  const DASH = "\u2014";
  const NB = "\u00a0";
  const LONGEST_TABLE = 60;
  const AROUND_S = 300;
  const LADDER = ["unknown", "healthy", "info", "warning", "critical"];
  const grouped = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
  const tenths = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
  const compact = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });

  function number(value) {
    return (Math.abs(value) < 10 ? tenths : grouped).format(value);
  }

  function seconds(value) {
    if (value > 0 && value < 1) return `${number(value * 1000)}${NB}ms`;
    if (value < 60) return `${number(value)}${NB}s`;
    const [size, unit, small, smallUnit] = value < 3600 ? [60, "m", 1, "s"] : value < 86400 ? [3600, "h", 60, "m"] : [86400, "d", 3600, "h"];
    const whole = Math.floor(value / size);
    const rest = Math.floor((value % size) / small);
    return rest ? `${whole}${NB}${unit}${NB}${rest}${NB}${smallUnit}` : `${whole}${NB}${unit}`;
  }

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log2(value) / 10));
    return `${number(value / 1024 ** power)}${NB}${units[power]}`;
  }

  const UNITS = {
    count: { full: number, short: (value) => (value < 10000 ? number(value) : compact.format(value)) },
    per_s: { full: (value) => `${number(value)}/s`, short: (value) => `${value < 10000 ? number(value) : compact.format(value)}/s` },
    s: { full: seconds, short: seconds },
    ms: { full: (value) => seconds(value / 1000), short: (value) => seconds(value / 1000) },
    bytes: { full: bytes, short: bytes },
  };

  function format(unit, value, isShort) {
    if (value === null || value === undefined) return DASH;
    return (UNITS[unit] ?? UNITS.count)[isShort ? "short" : "full"](value);
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const clock = (at) => crosslogTimes.moment(new Date(at * 1000));

  // Lowest, highest and latest of a series, with the time of the highest; null when nothing was measured.
  function summarise(at, values) {
    let low = null, high = null, last = null;
    values.forEach((value, index) => {
      if (value === null || value === undefined) return;
      if (low === null || value < values[low]) low = index;
      if (high === null || value > values[high]) high = index;
      last = index;
    });
    return high === null ? null : { low: values[low], high: values[high], highAt: at[high], last: values[last], lastAt: at[last] };
  }

  function seriesLine(series, index, unit, at, values) {
    const line = element("span", "chart__series");
    const sum = summarise(at, values);
    line.append(element("span", `chart__key chart__key--${index + 1}`), series.label);
    if (!sum) { line.append(` ${DASH} no samples`); return line; }
    line.append(element("b", "", format(unit, sum.last)), `lowest ${format(unit, sum.low)}, highest ${format(unit, sum.high)} at ${clock(sum.highAt)}`);
    return line;
  }

  function pointLine(series, index, unit, value) {
    const line = element("span", "chart__series");
    line.append(element("span", `chart__key chart__key--${index + 1}`), series.label, element("b", "", format(unit, value)));
    return line;
  }

  // The line below the chart; `point` is the index under the pointer, null when there is none.
  function describe(chart, data, point) {
    const lines = chart.series.map((series, index) => (point === null
      ? seriesLine(series, index, chart.unit, data.at, data[series.key] ?? [])
      : pointLine(series, index, chart.unit, data[series.key]?.[point])));
    if (point !== null) lines.unshift(element("span", "chart__series", clock(data.at[point])));
    return lines;
  }

  function row(cells, name, isNumeric) {
    const made = element("tr");
    cells.forEach((text, index) => {
      const cell = element(index ? name : "th", index && isNumeric ? "num" : "", text);
      if (cell.nodeName === "TH") cell.scope = name === "th" ? "col" : "row";
      made.append(cell);
    });
    return made;
  }

  // One entry for each kind of event, as bad as its worst, with how many there were.
  function legend(events) {
    const kinds = new Map();
    for (const event of events) {
      const known = kinds.get(event.kind) ?? { severity: event.severity, count: 0 };
      if (LADDER.indexOf(event.severity) > LADDER.indexOf(known.severity)) known.severity = event.severity;
      known.count += 1;
      kinds.set(event.kind, known);
    }
    return [...kinds].map(([kind, { severity, count }]) => {
      const entry = element("span", `chart__event chart__event--${severity}`);
      entry.append(element("i"), count > 1 ? `${kind} (${count})` : kind);
      return entry;
    });
  }

  function eventRow(event, width) {
    const made = row([clock(event.at), ""], "td", false);
    const cell = made.lastElementChild;
    cell.colSpan = width;
    const place = event.url ? element("a", "", event.label) : document.createTextNode(event.label);
    if (event.url) place.href = event.url;
    const around = element("a", "", `5${NB}min before`);
    around.href = crosslogRange.address(event.at - AROUND_S, event.at + AROUND_S);
    around.title = "Time range: 5 minutes before and after the event";
    cell.append(place, " \u00b7 ", around);
    return made;
  }

  // At most 60 rows, evenly chosen, then the events.
  function table(chart, data) {
    const made = element("table");
    made.append(element("caption", "visually-hidden", chart.title));
    const head = element("thead");
    head.append(row(["Time", ...chart.series.map((series) => series.label)], "th", true));
    const body = element("tbody");
    const step = Math.max(1, Math.ceil(data.at.length / LONGEST_TABLE));
    for (let index = data.at.length - 1; index >= 0; index -= step) {
      body.append(row([clock(data.at[index]), ...chart.series.map((series) => format(chart.unit, data[series.key]?.[index]))], "td", true));
    }
    for (const event of data.events ?? []) body.append(eventRow(event, chart.series.length));
    made.append(head, body);
    return made;
  }

  window.crosslogChartWords = { format, describe, legend, table };
})();
