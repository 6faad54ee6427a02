// This script shows times in the viewer's time zone and the state of the connection. It also draws charts and handles keys.
(() => {
  "use strict";
  const silentAfter = 7000; // milliseconds; the server sends a heartbeat every 2 s
  let received = Date.now(), connected = false;
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
      const age = span(Date.now() - d.getTime()), ago = t.classList.contains("ago");
      put(t, ago ? age : stamp(d));
      const title = `${ago ? stamp(d) : age}; ${d.toISOString().slice(0, 19).replace("T", " ")} UTC`;
      if (t.title !== title) t.title = title;
    }
  };
  const fresh = () => {
    if (document.hidden) { received = Date.now(); return; }
    const silent = Date.now() - received > silentAfter;
    link.classList.toggle("silent", silent);
    if (silent) put(link, `no connection since ${clock(new Date(received))}`);
    else if (connected) put(link, "live");
  };
  const receive = () => { received = Date.now(); connected = true; fresh(); };
  document.addEventListener("htmx:sse:after:connection", receive);
  document.addEventListener("htmx:sse:after:message", receive);
  document.addEventListener("beat", receive);
  // A page that nobody sees opens no stream. The extension of htmx closes the stream of a page that is hidden later.
  document.addEventListener("htmx:before:request", (e) => { if (document.hidden) e.preventDefault(); });
  document.addEventListener("htmx:after:swap", local);

  // A browser remembers who acts. A form begins with that name, and its reader may change it.
  const offered = new WeakSet();
  const remembered = () => {
    for (const field of document.querySelectorAll("[name=by]")) {
      if (offered.has(field)) continue;
      offered.add(field);
      const by = localStorage.getItem("by") ?? "";
      if (field.options ? [...field.options].some((o) => o.value === by) : field.value === "") field.value = by;
    }
  };
  document.addEventListener("submit", (e) => {
    const by = e.target.elements.by?.value;
    if (by) localStorage.setItem("by", by);
  });
  document.addEventListener("htmx:after:swap", remembered);
  remembered();

  // An address may name a part that is folded.
  const unfold = () => {
    const part = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!part) return;
    part.closest("details")?.setAttribute("open", "");
    part.scrollIntoView();
    if (part.matches(".filter input")) part.focus();
  };
  addEventListener("hashchange", unfold);
  unfold();
  // A graph that is wider than its place begins where the order is now.
  for (const part of document.querySelectorAll(".across")) {
    const now = part.querySelector(".stopped, .failed, .processing, .waiting, .compensating");
    if (now) part.scrollLeft += now.getBoundingClientRect().right + 64 - part.getBoundingClientRect().right;
  }

  setInterval(() => { local(); fresh(); }, 1000);
  local();

  // The element of each chart contains the data. The script draws a chart again if the data, the width or the colours change.
  const drawn = new WeakMap();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const axis = () => ({ stroke: color("quiet"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 }, font: "11px system-ui, sans-serif" });
  const readout = (text, lines) => (u) => {
    const i = u.cursor.idx;
    put(text, i == null ? "" : [clock(new Date(u.data[0][i] * 1000)), ...lines.map((l, k) => `${l.name} ${u.data[k + 1][i] ?? "–"}`)].join("  "));
  };
  const drawNew = (place, chart, data) => {
    const text = document.createElement("p");
    text.className = "readout";
    place.replaceChildren(text);
    return new uPlot({
      width: place.clientWidth, height: place.clientHeight - text.offsetHeight, padding: [8, 28, 0, 0], legend: { show: false }, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: true, range: (u, low, high) => low === high ? [low - chart.every, high + chart.every] : [low, high] }, y: { range: (u, low, high) => [0, Math.max(high * 1.1, 1)] } },
      axes: [{ ...axis(), size: 32, space: 70, values: (u, times, side, space, step) => times.map((t) => clock(new Date(t * 1000)).slice(0, step < 60 ? 8 : 5)) },
        { ...axis(), size: 56, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6] }],
      series: [{}, ...chart.lines.map((l) => ({ label: l.name, stroke: color(l.color), width: 2, points: { show: data[0].length < 3 } }))],
      hooks: { setCursor: [readout(text, chart.lines)] },
    }, data, place);
  };
  const draw = () => {
    for (const place of document.querySelectorAll(".plot[data-chart]")) {
      const text = place.dataset.chart, width = place.clientWidth, old = drawn.get(place);
      if (!width || old && old.text === text && old.width === width && old.dark === dark.matches) continue;
      const chart = JSON.parse(text);
      const data = [chart.lines[0].values.map((_, i) => chart.from + (i + 1) * chart.every), ...chart.lines.map((l) => l.values)];
      const names = chart.lines.map((l) => l.name + l.color).join();
      let plot = old?.plot;
      if (plot && old.names === names && old.width === width && old.dark === dark.matches) {
        plot.setData(data);
      } else {
        plot?.destroy();
        plot = drawNew(place, chart, data);
      }
      drawn.set(place, { text, width, names, plot, dark: dark.matches });
    }
  };
  document.addEventListener("htmx:after:swap", draw);
  addEventListener("resize", draw);
  dark.addEventListener("change", draw);
  draw();

  // A copy button writes a text to the clipboard and then shows the result.
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button[data-copy]");
    if (!button) return;
    const done = await navigator.clipboard.writeText(button.dataset.copy).then(() => "Copied", () => "Not allowed");
    put(button, done);
    setTimeout(() => put(button, "Copy"), 1500);
  });

  const keys = document.getElementById("keys");
  document.getElementById("show-keys").addEventListener("click", () => keys.showModal());

  // A row is a row of a table, a folded part, or a question. A step goes to its first link or control.
  const step = (by) => {
    const rows = [...document.querySelectorAll("main tbody tr, main summary, main section.box")].filter((r) => r.checkVisibility());
    const places = rows.map((r) => r.matches("summary") ? r : r.querySelector("a[href], button, summary")).filter(Boolean);
    const now = places.findIndex((p) => p === document.activeElement);
    const place = places[now < 0 ? (by > 0 ? 0 : places.length - 1) : Math.min(Math.max(now + by, 0), places.length - 1)];
    place?.focus();
    place?.scrollIntoView({ block: "nearest" });
  };
  let after = "";
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || keys.open || e.target.closest("input, select, textarea")) return;
    const to = after === "g" && [...document.querySelectorAll("nav a[accesskey]")].find((a) => a.accessKey === e.key);
    if (to) location.assign(to.href);
    else if (e.key === "?") keys.showModal();
    else if (e.key === "j") step(1);
    else if (e.key === "k") step(-1);
    else if (e.key === "/") {
      const field = document.querySelector(".filter input[name=id]");
      e.preventDefault();
      if (field) field.focus(); else location.assign("/orders#filter-id");
    }
    after = e.key;
  });
})();
