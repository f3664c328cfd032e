// Live pages: fast while the page is seen and used, slow when idle, never when hidden or paused.
(() => {
  "use strict";
  const FAST_MS = 3000;
  const IDLE_MS = 30000;
  const USED_FOR_MS = 60000;
  const CHECK_MS = 500;
  const TIMEOUT_MS = 15000;

  const wholePage = "[data-refresh]";
  // The sidebar is refreshed with the page; it neither makes a page live nor shows whether the server answers.
  const besides = () => [...document.querySelectorAll("[data-refresh-beside]")];
  let usedAt = Date.now();
  let askedAt = Date.now();
  let besideAt = Date.now();
  let failedAt = 0;
  let isAsking = false;
  let isPaused = false;

  const targets = () => [...document.querySelectorAll(wholePage)];

  // A filter or a sort changes the address of the page; the live part follows it.
  function addressOf(target) {
    const url = new URL(target.dataset.refreshBeside || target.dataset.refresh || location.href, location.href);
    return url.pathname === location.pathname ? location.pathname + location.search : url.pathname + url.search;
  }

  function isSelecting(target) {
    const selection = getSelection();
    return !selection.isCollapsed && target.contains(selection.anchorNode);
  }

  // A part that changes faster says so: progress of something short.
  const fastMs = () => Math.min(FAST_MS, ...targets().map((target) => Number(target.dataset.refreshMs) || FAST_MS));

  function besidesThatAreDue() {
    if (Date.now() - besideAt < FAST_MS) return [];
    besideAt = Date.now();
    return besides();
  }

  function isDue() {
    if (document.hidden || isPaused || isAsking) return false;
    const isUsed = Date.now() - usedAt < USED_FOR_MS;
    return Date.now() - askedAt >= (isUsed ? fastMs() : IDLE_MS);
  }

  async function ask() {
    isAsking = true;
    askedAt = Date.now();
    const asked = [...targets(), ...besidesThatAreDue()].filter((target) => !isSelecting(target));
    document.dispatchEvent(new CustomEvent("crosslog:refresh"));
    try {
      await Promise.all(asked.map((target) => htmx.ajax("GET", addressOf(target), { source: target, target, swap: "patch" })));
    } catch {
      failedAt ||= Date.now();
    } finally {
      isAsking = false;
      showState();
    }
  }

  function showState() {
    const button = document.getElementById("live-switch");
    if (!button) return;
    button.hidden = targets().length === 0 && !document.querySelector(".chart");
    button.setAttribute("aria-pressed", String(!isPaused));
    button.classList.toggle("live--lost", Boolean(failedAt) && !isPaused);
    const word = isPaused ? "Paused" : failedAt ? `No answer since ${crosslogTimes.format(failedAt, { timeStyle: "medium" })}` : "Live";
    button.lastElementChild.textContent = word;
    button.title = isPaused ? "Resume live updates (p)" : "Pause live updates (p)";
  }

  function togglePause() {
    isPaused = !isPaused;
    askedAt = 0;
    showState();
  }

  function noteUse() {
    usedAt = Date.now();
  }

  for (const kind of ["pointermove", "pointerdown", "keydown", "scroll", "focus"]) {
    addEventListener(kind, noteUse, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", noteUse);
  document.addEventListener("click", (event) => {
    if (event.target.closest("#live-switch")) togglePause();
  });
  document.addEventListener("crosslog:toggle-live", togglePause);
  document.addEventListener("htmx:configRequest", (event) => { event.detail.timeout = TIMEOUT_MS; });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.target.matches?.(wholePage)) return;
    failedAt = event.detail.successful ? 0 : failedAt || Date.now();
  });
  document.addEventListener("DOMContentLoaded", () => {
    showState();
    setInterval(() => { if (isDue()) ask(); }, CHECK_MS);
  });
})();
