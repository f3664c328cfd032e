// The absolute range in the reader's own clock: the address and the server always speak UTC.
(() => {
  "use strict";
  const MINUTES = 60000;

  // What a datetime-local field needs for this moment, in the chosen clock.
  function written(ms) {
    const shifted = crosslogTimes.isLocal() ? ms - new Date(ms).getTimezoneOffset() * MINUTES : ms;
    return new Date(shifted).toISOString().slice(0, 19);
  }

  function read(text) {
    return new Date(crosslogTimes.isLocal() ? text : `${text}Z`);
  }

  const stamp = (date) => date.toISOString().replace(".000Z", "Z");

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
      // Never under the hands of somebody who is typing.
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
      if (field.value) url.searchParams.set(field.name, stamp(read(field.value)));
    }
    location.assign(url);
  });
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("crosslog:preference", show);
  document.addEventListener("htmx:afterSwap", show);
})();
