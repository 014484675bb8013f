// The menu of published versions, in the sidebar. `tools/publish_docs.py` writes their names into version-list.js of
// each; a site that stands alone has none, and then there is no menu.
if (window.pliantVersions?.length > 1) {
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const here = decodeURIComponent(root.pathname.split("/").at(-2));
  const menu = document.createElement("select");
  Object.assign(menu, { className: "versions", ariaLabel: "Version of the documentation" });
  for (const name of window.pliantVersions) menu.add(new Option(name, name, false, name === here));
  menu.addEventListener("change", () => {
    const page = location.pathname.slice(root.pathname.length); // the same page where the other version has it
    const there = new URL(`../${menu.value}/`, root);
    fetch(new URL(page, there), { method: "HEAD" })
      .then((answer) => location.assign(answer.ok ? new URL(page, there) : there))
      .catch(() => location.assign(new URL("index.html", there)));
  });
  document.querySelector(".sidebar-brand")?.after(menu);
}
