// Tables sortable by clicking a heading, pictures that enlarge, and rows linked to their pictures.

const value = (cell) => (cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort));

function compareCells(a, b) {
  const [x, y] = [value(a), value(b)];
  const empty = (v) => v === "";
  if (empty(x) || empty(y)) return empty(x) - empty(y);
  return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
}

for (const table of document.querySelectorAll("table.sorted")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const order = compareCells(a.cells[column], b.cells[column]);
        const blank = a.cells[column].textContent === "" || b.cells[column].textContent === "";
        return down && !blank ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}

for (const section of document.querySelectorAll("section")) {
  const named = [...section.querySelectorAll("[data-method]")];
  const light = (method) => named.forEach((part) => part.classList.toggle("lit", part.dataset.method === method));
  for (const part of named) {
    part.addEventListener("pointerenter", () => light(part.dataset.method));
    part.addEventListener("pointerleave", () => light(null));
  }
}

for (const button of document.querySelectorAll(".shots button")) {
  button.addEventListener("click", () => {
    const large = button.parentElement.classList.toggle("large");
    button.setAttribute("aria-expanded", String(large));
  });
}
