"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colors = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { ink: of("--ink"), faint: of("--faint"), line: of("--line") };
  };
  // Okabe and Ito's colours, which people with any colour vision tell apart; lighter ones on a dark ground.
  const light = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#5c4b99", "#8a8a8a", "#7a3b1d", "#2f6f3e"];
  const night = ["#56b4e9", "#ff9040", "#2fcf9f", "#f0a0c8", "#f0e442", "#9ad0ff", "#b3a2f0", "#b8b8b8", "#d49a78", "#8fd19e"];
  const config = () => {
    const { ink, faint, line } = colors();
    const text = { labelColor: ink, titleColor: faint, titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12 };
    return {
      background: "transparent",
      font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
      view: { stroke: null },
      range: { category: dark.matches ? night : light },
      axis: { ...text, gridColor: line, domainColor: line, tickColor: line },
      legend: text,
      text: { color: ink, fontSize: 12 },
      rule: { color: ink },
    };
  };
  const draw = async () => {
    for (const [id, spec] of Object.entries(charts)) {
      const place = document.getElementById(id);
      const sized = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", width: "container", autosize: { type: "fit-x", contains: "padding" }, ...spec };
      const description = place.getAttribute("aria-label");
      try {
        await vegaEmbed(place, { ...sized, description }, { actions: false, renderer: "svg", config: config(), tooltip: { theme: dark.matches ? "dark" : "light" } });
        place.dataset.drawn = "yes";
      } catch (error) {
        place.textContent = "This chart could not be drawn: " + error.message;
        console.error(id, error);
      }
    }
    document.documentElement.dataset.drawn = "yes";
  };
  dark.addEventListener("change", draw);
  draw();

  const value = (cell) => cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th"), body = head.closest("table").tBodies[0], column = head.cellIndex;
      const up = head.getAttribute("aria-sort") === "descending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const compare = (a, b) => {
        const [x, y] = [value(a.cells[column]), value(b.cells[column])];
        return (typeof x === "number" ? x - y : x.localeCompare(y)) * (up ? 1 : -1);
      };
      body.append(...[...body.rows].sort(compare));
    });
  }
})();
