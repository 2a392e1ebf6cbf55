// What a page gains when scripts run: live updates, copying, relative times,
// keys. Everything works without it.
"use strict";
(() => {
  const root = document.documentElement, said = document.getElementById("said");
  const all = (selector, from = document) => from.querySelectorAll(selector);
  const say = text => { said.textContent = ""; requestAnimationFrame(() => { said.textContent = text; }); };

  // The browser's time zone: pages show times in it unless another was chosen.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `ledgerhook_here=${zone}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  document.getElementById("zones")?.append(...Intl.supportedValuesOf("timeZone").map(name => new Option(name)));

  // Relative times, each with the exact one beside it.
  const phrases = said.dataset.ago.split("|");
  const ago = at => {
    const s = Math.round((Date.now() - at) / 1000), n = Math.abs(s);
    if (n < 3) return phrases[0];
    const [unit, size] = n < 90 ? [1, 1] : n < 5400 ? [2, 60] : n < 129600 ? [3, 3600] : [4, 86400];
    return phrases[s < 0 ? unit + 4 : unit].replace("%d", Math.round(n / size));
  };
  const times = from => all("time[data-ago]", from).forEach(t => {
    if (!t.children.length) {
      const exact = document.createElement("small");
      t.title = t.textContent;
      exact.textContent = " " + t.title;
      t.replaceChildren("", exact);
    }
    const text = ago(Date.parse(t.dateTime));
    if (t.firstChild.data !== text) t.firstChild.data = text; // what is selected stays so
  });

  // Copying: every button appears only where it works.
  const showCopies = from => all("[data-copy]", from).forEach(b => { b.hidden = !navigator.clipboard; });
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const from = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
    navigator.clipboard.writeText(from ? from.textContent : button.dataset.copy).then(() => {
      button.classList.add("done");
      say(said.dataset.copied);
      setTimeout(() => button.classList.remove("done"), 1500);
    }, () => {});
  });

  // A checkbox that stands for all rows.
  document.addEventListener("change", event => {
    const box = event.target;
    if (box.matches("[data-all]")) all(`input[name="${box.dataset.all}"]`).forEach(b => { b.checked = box.checked; });
  });

  // How many rows are selected.
  const tally = () => all("[data-count]").forEach(says => {
    const n = all(`input[name="${says.dataset.count}"]:checked`).length;
    says.textContent = n ? says.dataset.text.replace("%s", n) : "";
  });
  document.addEventListener("change", tally);
  addEventListener("pageshow", tally); // who comes back finds boxes ticked

  // A whole row is its link. What else stands in it is used as ever, and its
  // text can be selected. Who misses its checkbox by a little means that.
  document.addEventListener("click", event => {
    if (event.target.closest("a, button, input, label, summary")) return;
    const box = event.target.closest("td.pick")?.querySelector("input"), link = event.target.closest("tbody tr")?.querySelector("th a[href]");
    if (box) box.click();
    else if (link && getSelection().isCollapsed) link.dispatchEvent(new MouseEvent("click", event));
  });

  // Parts marked data-live are fetched anew when something has changed. What is
  // new is written into what stands there: what somebody has opened, typed,
  // selected or has the focus on stays as it is, and all beside it is news.
  const selected = node => { const s = getSelection(); return !s.isCollapsed && s.containsNode(node, true); };
  const key = node => node.id || node.matches?.("tr, li") && node.querySelector("a[href]")?.getAttribute("href") || "";
  const update = (node, next) => {
    if (node.nodeType !== Node.ELEMENT_NODE) {
      if (node.data !== next.data && !selected(node)) node.data = next.data;
      return;
    }
    const keeps = name => name === "open"; // of details: whoever reads it decides
    for (const { name } of [...node.attributes]) if (!next.hasAttribute(name) && !keeps(name)) node.removeAttribute(name);
    for (const { name, value } of next.attributes) if (node.getAttribute(name) !== value && !keeps(name)) node.setAttribute(name, value);
    const left = [...node.childNodes];
    for (const child of [...next.childNodes]) {
      const same = old => old.nodeName === child.nodeName && key(old) === key(child);
      const at = child.nodeType === Node.ELEMENT_NODE ? left.findIndex(same) : left.length && same(left[0]) ? 0 : -1;
      if (at < 0) {
        node.insertBefore(child, left[0] ?? null);
        continue;
      }
      left.splice(0, at).forEach(old => old.remove());
      update(left.shift(), child);
    }
    left.forEach(old => old.remove());
  };
  let fetching = false, again = false, last = Date.now();
  const refresh = async () => {
    if (document.hidden) return; // whoever looks again hears of it then
    if (fetching) { again = true; return; }
    fetching = true; again = false;
    try {
      await new Promise(done => setTimeout(done, Math.max(0, 2000 - (Date.now() - last))));
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok && !answer.redirected) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        times(fresh); showCopies(fresh);
        all("[data-live][id], #asof").forEach(part => {
          const next = fresh.getElementById(part.id);
          if (next) update(part, next);
        });
      }
    } catch { /* the next change tries again */ }
    last = Date.now(); fetching = false;
    if (again) refresh();
  };

  // A page listens only while it is seen: a browser has few connections for
  // all its tabs. The first it hears is how things stand, which may be newer
  // than the page. One that may not listen, since as many do already, is
  // fetched anew every 15 s and asks again.
  const listen = (address, name, heard) => {
    let stream = null;
    const turn = () => {
      if (document.hidden) { stream?.close(); stream = null; return; }
      if (stream) return;
      stream = new EventSource(address);
      stream.addEventListener(name, heard);
      stream.addEventListener("error", event => {
        if (event.target !== stream || stream.readyState !== EventSource.CLOSED) return; // it comes back by itself
        setTimeout(() => { if (event.target === stream) { stream = null; refresh(); turn(); } }, 15000);
      });
    };
    document.addEventListener("visibilitychange", turn);
    turn();
  };
  if (document.querySelector("[data-live]")) {
    listen(root.dataset.base + "/live", "change", refresh);
    setInterval(() => { if (document.querySelector("[data-live='often']")) refresh(); }, 5000);
  }

  // "12 new": a link that appears above a list; rows never move by themselves.
  all("[data-news]").forEach(link => listen(link.dataset.news, "new", event => {
    link.hidden = event.data === "0";
    link.textContent = link.dataset.text.replace("%s", event.data);
  }));

  // Keys.
  const rows = () => [...all("tbody tr")].filter(r => r.querySelector("a[href]"));
  const here = () => document.activeElement.closest("tbody tr");
  const go = step => {
    const list = rows();
    if (!list.length) return;
    const row = list[Math.max(0, Math.min(list.length - 1, list.indexOf(here()) + step))];
    row.querySelector("a[href]").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const help = document.getElementById("help");
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const act = {
      "/": () => document.querySelector("[data-find]")?.focus(),
      "j": () => go(1), "k": () => go(-1),
      "x": () => here()?.querySelector("input[type=checkbox]")?.click(),
      "?": () => help.open ? help.close() : help.showModal(),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  times(); showCopies(); setInterval(times, 1000);
})();
