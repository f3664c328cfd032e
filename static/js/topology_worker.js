// Graphviz beside the page, so that a large picture does not hold it up. A worker answers to the policy of its
// own file, so that WebAssembly needs no exception in the policy of any page.
"use strict";
let graphviz = null;

addEventListener("message", async ({ data }) => {
  try {
    if (!graphviz) {
      importScripts(data.graphviz);
      graphviz = await Viz.instance();
    }
    postMessage({ svg: graphviz.renderString(data.dot, { format: "svg" }) });
  } catch (problem) {
    postMessage({ problem: problem.message });
  }
});
