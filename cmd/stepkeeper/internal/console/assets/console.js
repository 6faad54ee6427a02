// Behaviour of the console's pages: times of the viewer's zone, how fresh the page is, and keys.
(() => {
  "use strict";
  const silentAfter = 7000; // ms; the server sends a heartbeat each 2 s
  let heard = Date.now();
  const link = document.getElementById("link");
  const two = (n) => String(n).padStart(2, "0");
  const clock = (d) => `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  const stamp = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(d)}`;
  const span = (ms) => {
    const s = Math.floor(Math.abs(ms) / 1000);
    const text = s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m${two(s % 60)}s`
      : s < 172800 ? `${Math.floor(s / 3600)}h${two(Math.floor(s / 60) % 60)}m` : `${Math.floor(s / 86400)}d`;
    return ms < 0 ? `in ${text}` : `${text} ago`;
  };
  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const local = () => {
    for (const t of document.querySelectorAll("time[datetime]")) {
      const d = new Date(t.getAttribute("datetime"));
      put(t, t.classList.contains("ago") ? span(Date.now() - d.getTime()) : stamp(d));
    }
  };
  const fresh = () => {
    if (document.hidden) { heard = Date.now(); return; }
    const silent = Date.now() - heard > silentAfter;
    link.classList.toggle("silent", silent);
    put(link, silent ? `no word from the server since ${clock(new Date(heard))}` : "live");
  };
  const hear = () => { heard = Date.now(); fresh(); };
  document.addEventListener("htmx:sse:after:connection", hear);
  document.addEventListener("htmx:sse:after:message", hear);
  document.addEventListener("beat", hear);
  document.addEventListener("htmx:after:swap", local);
  setInterval(() => { local(); fresh(); }, 1000);
  local();

  let after = "";
  const goTo = { h: "/", o: "/orders", i: "/incidents", w: "/waiting", a: "/answers", b: "/bulk", f: "/workflows", e: "/health" };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
    if (after === "g" && goTo[e.key]) location.assign(goTo[e.key]);
    if (e.key === "/") {
      const field = document.querySelector(".filter input");
      if (field) { e.preventDefault(); field.focus(); } else { location.assign("/orders"); }
    }
    after = e.key;
  });
})();
