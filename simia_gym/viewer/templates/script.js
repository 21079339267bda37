"use strict";
(() => {
  const one = (query, within = document) => within.querySelector(query);
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const list = one("#list"), form = one("#filter"), table = one("#rows"), help = one("#help");
  const more = one("#more"), most = table ? Number(table.dataset.most) : 0;
  const rows = table ? [...table.tBodies[0].rows] : [];
  const pages = all("article.episode, article.pair, .systems");
  const picked = {};
  const kept = form && location.protocol === "http:" ? sessionStorage : null;
  let limit = most, texts = null, open = pages.length === 1 && !list ? pages[0] : null;

  // A browser takes long to lay out thousands of rows, so only some of those that fit are shown at a time.
  function filter() {
    texts = texts || rows.map((row) => row.textContent.toLowerCase());
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = all("select", form).filter((box) => box.value);
    let count = 0;
    rows.forEach((row, at) => {
      const fits = words.every((word) => texts[at].includes(word))
        && chosen.every((box) => row.dataset[box.name] === box.value)
        && Object.entries(picked).every(([name, value]) => !value || row.dataset[name].split(" ").includes(value));
      count += fits;
      row.hidden = !fits || count > limit;
    });
    if (kept) kept.setItem("filter", JSON.stringify([[...new FormData(form)], picked]));
    more.hidden = count <= limit;
    one("#count").textContent = (count > limit ? limit + " of " + count : count) + " shown" + Object.values(picked).filter(Boolean).map((value) => ", " + value).join("");
  }

  function sort(button) {
    const column = Number(button.dataset.column), number = button.dataset.number === "True";
    const head = button.closest("th"), down = head.getAttribute("aria-sort") === "ascending";
    all("th", table).forEach((each) => each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row) => {
      const text = row.cells[column].textContent;
      const value = parseFloat(text.replaceAll(",", ""));
      return [number ? (isNaN(value) ? -Infinity : value) : text, row];
    });
    keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    rows.splice(0, rows.length, ...keyed.map(([, row]) => row));
    texts = null;
    table.tBodies[0].append(...rows);
    filter();
  }

  function show() {
    const name = decodeURIComponent(location.hash.slice(1));
    if (list) {
      const target = name && document.getElementById(name);
      const before = open;
      open = target ? target.closest("article.episode, article.pair, .systems") : null;
      list.hidden = Boolean(open);
      pages.forEach((page) => { page.hidden = page !== open; });
      if (!open && before) {
        const row = one('#rows a[href="#' + before.id + '"]');
        if (row) { row.closest("tr").hidden = false; row.focus(); row.scrollIntoView({block: "center"}); }
      }
      if (open && target === open) { scrollTo(0, 0); return; }
    }
    const target = name && document.getElementById(name);
    if (!target) return;
    if (target.matches("#rows a")) target.closest("tr").hidden = false;
    for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
    all("details.call", target).forEach((each) => { each.open = true; });
    target.scrollIntoView({block: "center"});
    if (target.tabIndex === -1 || target.matches("#rows a")) target.focus({preventScroll: true});
  }

  function move(by) {
    const last = rows.filter((row) => !row.hidden).pop();
    if (!open && by > 0 && last && last.contains(document.activeElement) && !more.hidden) more.click();
    const places = open ? all(".step", open) : rows.filter((row) => !row.hidden).map((row) => one("a", row));
    const at = places.findIndex((place) => place.contains(document.activeElement));
    const next = places[Math.min(Math.max(at + by, 0), places.length - 1)];
    if (next) { next.focus(); next.scrollIntoView({block: "nearest"}); }
  }

  function go(rel) {
    const link = open && one('nav a[rel="' + rel + '"]', open);
    if (link) link.click();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (help.open) return;
    const keys = {
      "/": () => form && !open && form.elements.search.focus(),
      j: () => move(1), k: () => move(-1), n: () => go("next"), p: () => go("prev"),
      u: () => go("up"), Escape: () => go("up"), "?": () => help.showModal(),
      o: () => {
        const folds = open ? all("details", open) : [], unfold = folds.some((each) => !each.open);
        folds.forEach((each) => { each.open = unfold; });
      },
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  if (form) {
    form.addEventListener("input", () => { limit = most; filter(); });
    more.addEventListener("click", () => { limit += most; filter(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => { for (const name in picked) picked[name] = ""; setTimeout(filter); });
    all("[data-filter]").forEach((button) => button.addEventListener("click", () => {
      picked[button.dataset.filter] = picked[button.dataset.filter] === button.dataset.value ? "" : button.dataset.value;
      filter();
    }));
    const last = kept && kept.getItem("filter");
    if (last) {
      const [fields, chosen] = JSON.parse(last);
      fields.forEach(([name, value]) => { if (form.elements[name]) form.elements[name].value = value; });
      Object.assign(picked, chosen);
      filter();
    }
    all("[data-column]").forEach((button) => button.addEventListener("click", () => sort(button)));
  }
  addEventListener("hashchange", show);
  show();
})();
