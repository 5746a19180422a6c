// What the hub's pages gain where scripts run: figures that follow the fleet,
// filters without a button, keys, curves. Without it everything still works.
"use strict";
(() => {
  const $ = (sel, from = document) => from.querySelector(sel);
  const $$ = (sel, from = document) => [...from.querySelectorAll(sel)];
  const say = (text) => { const s = $("#status"); if (s) s.textContent = text; };

  // refresh takes a page again and puts its marked parts in place of this one's.
  let turn = 0;
  async function refresh(url) {
    const mine = ++turn;
    const res = await fetch(url, { headers: { "X-Fettle-Part": "1" }, redirect: "error" });
    if (res.status === 401) { // the session has ended, or the role is to be looked up again
      if (!/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)) location.reload();
      return false;
    }
    if (!res.ok || mine !== turn) return false;
    const page = new DOMParser().parseFromString(await res.text(), "text/html");
    if (mine !== turn) return false;
    for (const old of $$("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh || fresh.innerHTML === old.innerHTML) continue;
      if (old.contains(document.activeElement) && document.activeElement !== document.body && !old.contains($("tr.here"))) continue;
      const chosen = new Set($$("input[type=checkbox][name=host]:checked", old).map((b) => b.value));
      const open = $$("details[open]", old).map((d) => d.id).filter(Boolean);
      old.replaceChildren(...fresh.childNodes);
      for (const b of $$("input[type=checkbox][name=host]", old)) b.checked = chosen.has(b.value);
      for (const id of open) { const d = document.getElementById(id); if (d) d.open = true; }
      enhance(old);
    }
    return true;
  }

  // Live: the server says when something was stored; at most every five seconds
  // the page is asked for again, and only while somebody looks.
  function live() {
    if (!document.body.dataset.stream || !$("[data-live]")) return;
    let waiting = false, last = 0;
    const source = new EventSource(document.body.dataset.stream);
    const go = async () => {
      if (waiting || document.hidden) { waiting = waiting || document.hidden; return; }
      waiting = true;
      await new Promise((ok) => setTimeout(ok, Math.max(0, last + 5000 - Date.now())));
      waiting = false;
      last = Date.now();
      try {
        if (await refresh(location.href)) say("Updated " + new Date().toLocaleTimeString());
      } catch { say("The hub does not answer; trying again"); }
    };
    source.addEventListener("changed", go);
    source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) go(); });
    document.addEventListener("visibilitychange", () => { if (!document.hidden && waiting) { waiting = false; go(); } });
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
  }

  // Filters: what is typed or chosen is applied, and is in the address.
  function filters() {
    for (const form of $$("form.filters[data-live-filter]")) {
      let timer;
      const apply = async () => {
        const query = new URLSearchParams();
        for (const [k, v] of new FormData(form)) if (v !== "") query.append(k, v);
        const url = location.pathname + (query.size ? "?" + query : "");
        history.replaceState(null, "", url);
        try {
          await refresh(url);
          const n = $("[data-count]");
          say(n ? n.dataset.count : "");
        } catch { say("The hub does not answer"); }
      };
      form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 250); });
      form.addEventListener("submit", (e) => { e.preventDefault(); clearTimeout(timer); apply(); });
      const button = $("button", form);
      if (button) button.hidden = true;
    }
  }

  // Keys, as in many pages of admins' tools; "?" lists them.
  const places = { f: "/", c: "/changes", t: "/traps", h: "/hosts", u: "/coverage", p: "/paste" };
  let gone = 0;
  function keys(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = document.activeElement;
    if (at && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) {
      if (e.key === "Escape") at.blur();
      return;
    }
    if (gone && Date.now() - gone < 1500 && places[e.key]) { gone = 0; location.href = places[e.key]; return; }
    gone = 0;
    switch (e.key) {
      case "/": e.preventDefault(); $("#q")?.focus(); break;
      case "?": e.preventDefault(); $("#keys")?.showModal(); break;
      case "g": gone = Date.now(); break;
      case "j": step(1); break;
      case "k": step(-1); break;
    }
  }

  // step moves through the rows of the page's tables; the row's first link has the focus.
  function step(by) {
    const rows = $$("main tbody tr, main article.finding").filter((r) => $("a", r) && r.offsetParent);
    if (!rows.length) return;
    const here = rows.findIndex((r) => r.classList.contains("here"));
    const next = here < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, here + by));
    if (here >= 0) rows[here].classList.remove("here");
    rows[next].classList.add("here");
    $("a", rows[next]).focus();
    rows[next].scrollIntoView({ block: "nearest" });
  }

  // Curves: the figures are the API's.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  async function curve(box) {
    if (typeof uPlot !== "function" || box.dataset.drawn) return;
    box.dataset.drawn = "1";
    let got;
    try {
      const res = await fetch(box.dataset.curve);
      if (!res.ok) return;
      got = await res.json();
    } catch { return; }
    const days = got.days || [];
    if (days.length < 2) return;
    const names = box.dataset.series.split(" ");
    const draw = () => {
      const font = "12px system-ui, sans-serif";
      const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font };
      const dash = { critical: [], warning: [8, 3], notice: [2, 3], unknown: [1, 4], new: [], resolved: [6, 3], hosts: [] };
      const tint = { new: "critical", resolved: "good", hosts: "link" };
      const data = [days.map((d) => Date.parse(d.day) / 1000), ...names.map((n) => days.map((d) => d[n] ?? null))];
      box.replaceChildren();
      const plot = new uPlot({
        width: box.clientWidth || 600, height: 210, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1e3), "Etc/UTC"),
        cursor: { y: false },
        scales: { y: { range: (_, lo, hi) => [0, Math.max(hi || 0, 1) * 1.05] } },
        axes: [{ ...axis, label: "day (UTC)", labelFont: font, labelSize: 18, values: (_, at) => at.map((ts) => new Date(ts * 1e3).toISOString().slice(5, 10)) }, { ...axis, size: 58, label: box.dataset.unit, labelFont: font, labelSize: 18, values: (_, v) => v.map((n) => Number.isInteger(n) ? n.toLocaleString("en") : "") }],
        series: [{ label: "Day", value: "{YYYY}-{MM}-{DD}" }, ...names.map((n) => ({
          label: n, stroke: colour(tint[n] || n), width: 1.8, dash: dash[n], points: { show: false },
          value: (_, v) => v == null ? "" : v.toLocaleString("en"),
        }))],
      }, data, box);
      return plot;
    };
    let plot = draw();
    new ResizeObserver(() => { if (box.clientWidth && Math.abs(plot.width - box.clientWidth) > 2) plot.setSize({ width: box.clientWidth, height: 210 }); }).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { plot.destroy(); plot = draw(); });
  }

  function enhance(part) {
    for (const t of $$("time[datetime]", part)) t.title = new Date(t.dateTime).toLocaleString();
    for (const all of $$("input[data-all]", part)) {
      all.hidden = false;
      all.addEventListener("input", () => { for (const b of $$("input[name=host]", all.closest("table"))) b.checked = all.checked; });
    }
    for (const box of $$("[data-curve]", part)) curve(box);
    for (const b of $$("button[data-copy]", part)) {
      b.hidden = !navigator.clipboard;
      b.addEventListener("click", async () => {
        await navigator.clipboard.writeText(b.parentElement.querySelector("pre").textContent.trim());
        say("Copied");
        b.textContent = "Copied";
        setTimeout(() => { b.textContent = "Copy"; }, 1500);
      });
    }
  }

  document.addEventListener("keydown", keys);
  enhance(document);
  filters();
  live();
})();
