// The absolute range in the reader's own clock: the address and the server always speak UTC.
(() => {
  "use strict";
  const MINUTES = 60000;

  // 2026-11-21 15:04:00 in the chosen clock, never AM or PM.
  function written(ms) {
    const shifted = crosslogTimes.isLocal() ? ms - new Date(ms).getTimezoneOffset() * MINUTES : ms;
    return new Date(shifted).toISOString().slice(0, 19).replace("T", " ");
  }

  const stamp = (date) => date.toISOString().replace(".000Z", "Z");

  // A clock time as UTC; now-6h, milliseconds and what is wrong go to the server as they are.
  function read(text) {
    const isClock = /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?$/.test(text);
    if (!isClock) return text;
    const date = new Date(crosslogTimes.isLocal() ? text.replace(" ", "T") : `${text.replace(" ", "T")}Z`);
    return Number.isNaN(date.getTime()) ? text : stamp(date);
  }

  // This page with another range, in seconds since 1970.
  function address(from, to) {
    const url = new URL(location.href);
    url.searchParams.delete("range");
    url.searchParams.set("from", stamp(new Date(from * 1000)));
    url.searchParams.set("to", stamp(new Date(to * 1000)));
    return url;
  }

  function label(link) {
    const [from, to] = [new Date(link.dataset.from), new Date(link.dataset.to)];
    const clock = { hour: "2-digit", minute: "2-digit" };
    const day = { day: "2-digit", month: "short" };
    const isOneDay = crosslogTimes.format(from, day) === crosslogTimes.format(to, day);
    const end = crosslogTimes.format(to, isOneDay ? clock : { ...day, ...clock });
    return `${crosslogTimes.format(from, { ...day, ...clock })} to ${end} ${crosslogTimes.isLocal() ? "local" : "UTC"}`.replaceAll(",", "");
  }

  function show() {
    for (const link of document.querySelectorAll("a[data-from]")) link.textContent = label(link);
    for (const form of document.querySelectorAll("form[data-range]")) {
      // A field in use keeps its text.
      const isInUse = form.contains(document.activeElement);
      for (const field of isInUse ? [] : form.querySelectorAll("input[data-at]")) field.value = written(Date.parse(field.dataset.at));
      for (const word of form.querySelectorAll("[data-clock-word]")) word.textContent = crosslogTimes.isLocal() ? "local" : "UTC";
    }
  }

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-range]");
    if (!form) return;
    event.preventDefault();
    const url = new URL(location.href);
    url.searchParams.delete("range");
    for (const field of form.querySelectorAll("input[data-at]")) {
      const at = Date.parse(field.dataset.at);
      // Unchanged: the moment itself, which a clock shows twice at the end of summer time.
      const text = field.value === written(at) ? stamp(new Date(at)) : field.value.trim();
      if (text) url.searchParams.set(field.name, read(text));
      else url.searchParams.delete(field.name);
    }
    location.assign(url);
  });
  window.crosslogRange = { address };
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("crosslog:preference", show);
  document.addEventListener("htmx:afterSwap", show);
})();
