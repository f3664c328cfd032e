// Times: "12 s ago" counts on between two answers, and moments are written in UTC or local time.
(() => {
  "use strict";
  const NB = "\u00a0";
  const UNITS = [["d", 86400, "h", 3600], ["h", 3600, "m", 60], ["m", 60, "s", 1]];
  // The server's clock counts: the reader's may be wrong.
  const skewMs = Date.parse(document.documentElement.dataset.now) - Date.now() || 0;

  function span(seconds) {
    for (const [unit, size, smallUnit, smallSize] of UNITS) {
      if (seconds < size) continue;
      const rest = Math.floor((seconds % size) / smallSize);
      const head = `${Math.floor(seconds / size)}${NB}${unit}`;
      return rest ? `${head}${NB}${rest}${NB}${smallUnit}` : head;
    }
    return `${seconds}${NB}s`;
  }

  function age(at) {
    const ms = Date.now() + skewMs - at;
    const seconds = Math.round(Math.abs(ms) / 1000);
    if (seconds < 1) return "just now";
    return ms > 0 ? `${span(seconds)} ago` : `in ${span(seconds)}`;
  }

  function isLocal() {
    return document.documentElement.dataset.clock === "local";
  }

  function format(date, options) {
    return new Intl.DateTimeFormat("en-GB", { timeZone: isLocal() ? undefined : "UTC", hourCycle: "h23", ...options }).format(date);
  }

  const MOMENT = { day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" };

  function moment(date) {
    return format(date, MOMENT).replace(",", "");
  }

  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function tick() {
    if (document.hidden) return;
    for (const element of document.querySelectorAll("time[data-ago]")) {
      write(element, age(Date.parse(element.dateTime)));
    }
  }

  const TICKS = {
    day: { day: "2-digit", month: "short" },
    minute: { hour: "2-digit", minute: "2-digit" },
    second: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
  };

  function writeMoments() {
    for (const element of document.querySelectorAll("[data-tick]")) {
      write(element, format(new Date(element.dataset.at), TICKS[element.dataset.tick]));
    }
    for (const element of document.querySelectorAll("time[data-moment]")) {
      write(element, moment(new Date(element.dateTime)));
    }
  }

  window.crosslogTimes = { format, moment, isLocal, now: () => Date.now() + skewMs };
  setInterval(tick, 1000);
  document.addEventListener("DOMContentLoaded", writeMoments);
  document.addEventListener("crosslog:preference", writeMoments);
  document.addEventListener("htmx:afterSwap", () => { writeMoments(); tick(); });
})();
