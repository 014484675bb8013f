"use strict";
(() => {
  const keys = JSON.parse(document.getElementById("keys").textContent);
  const [by, turn, only] = ["by", "turn", "only"].map((id) => document.getElementById(id));
  const lists = ["cards", "rows"].map((id) => document.getElementById(id));
  const items = lists.map((list) => [...list.children]);
  const heads = [...document.querySelectorAll("th button")];
  let column = 0, down = false;

  // missing values sort last in both directions; ties keep the order of the sweep
  const before = (a, b) => {
    const [x, y] = [keys[a][column], keys[b][column]];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return (down ? -order : order) || a - b;
  };

  const show = () => {
    const order = keys.map((_, n) => n).sort(before);
    lists.forEach((list, k) => {
      list.append(...order.map((n) => items[k][n]));
      for (const item of items[k]) item.hidden = only.checked && !item.matches(".failed, .beyond");
    });
    by.value = String(column);
    turn.textContent = down ? "largest first" : "smallest first";
    turn.setAttribute("aria-pressed", String(down));
    for (const head of heads) {
      const here = Number(head.dataset.k) === column;
      if (here) head.parentElement.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.parentElement.removeAttribute("aria-sort");
    }
  };

  by.addEventListener("change", () => { column = Number(by.value); show(); });
  turn.addEventListener("click", () => { down = !down; show(); });
  only.addEventListener("change", show);
  for (const head of heads) {
    head.addEventListener("click", () => {
      const chosen = Number(head.dataset.k);
      down = chosen === column ? !down : false;
      column = chosen;
      show();
    });
  }
  show();
})();
