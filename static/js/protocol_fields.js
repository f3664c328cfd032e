// The form of a cluster: fields of SASL and TLS are hidden while the security protocol does not use them. One with a
// value stays, so that its error has a place.
(() => {
  "use strict";
  function show(form) {
    const protocol = form.elements.security_protocol.value;
    const used = {
      sasl: protocol.startsWith("SASL_"),
      tls: protocol.endsWith("SSL"),
      oauthbearer: protocol.startsWith("SASL_") && form.elements.sasl_mechanism.value === "OAUTHBEARER",
    };
    for (const field of form.querySelectorAll("[data-needs]")) {
      const isEmpty = field.type === "checkbox" || !field.value;
      field.closest(".field").hidden = isEmpty && !used[field.dataset.needs];
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll("form[data-by-protocol]")) {
      show(form);
      form.addEventListener("change", () => show(form));
    }
  });
})();
