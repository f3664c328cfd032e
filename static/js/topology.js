// The picture of a topology: Graphviz draws the DOT text of the page. Without it the list stays open.
(() => {
  "use strict";
  const MOST_MS = 30000;
  const { worker: workerAddress, graphviz } = document.currentScript.dataset;
  const byId = (id) => document.getElementById(id);
  let drawn = "";

  function ask(dot) {
    return new Promise((resolve, reject) => {
      const worker = new Worker(workerAddress);
      const end = (settle, result) => { clearTimeout(late); worker.terminate(); settle(result); };
      const late = setTimeout(() => end(reject, new Error(`It took more than ${MOST_MS / 1000} seconds.`)), MOST_MS);
      worker.onmessage = ({ data }) => (data.svg ? end(resolve, data.svg) : end(reject, new Error(data.problem)));
      worker.onerror = (event) => end(reject, new Error(event.message || "Graphviz could not be loaded."));
      worker.postMessage({ graphviz: new URL(graphviz, location.href).href, dot });
    });
  }

  function picture(text) {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    if (svg.nodeName !== "svg") throw new Error("Graphviz gave no picture.");
    // Titles of Graphviz are the names that nodes have in the DOT text.
    for (const title of svg.querySelectorAll("title")) title.remove();
    const { width, height } = svg.viewBox.baseVal;
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "Topology, from left to right. The list below says the same.");
    return document.importNode(svg, true);
  }

  async function draw() {
    const dot = byId("topology-dot")?.textContent ?? "";
    if (dot === drawn) return;
    drawn = dot;
    if (!dot) return;
    let svg, why = "";
    try {
      svg = picture(await ask(dot));
    } catch (error) {
      why = `The picture could not be drawn: ${error.message} The list says the same.`;
    }
    // Meanwhile the page may have got another topology, or none.
    if (dot !== drawn) return;
    const [box, list] = [byId("topology-picture"), byId("topology-list")];
    byId("topology-problem").textContent = why;
    if (svg) {
      box.replaceChildren(svg);
      if (box.hidden) list.open = false;
    } else list.open = true;
    box.hidden = !svg;
  }

  document.addEventListener("DOMContentLoaded", draw);
  document.addEventListener("htmx:afterSwap", draw);
})();
