(function () {
  "use strict";
  var $ = function (id) { return document.getElementById(id); };
  var root = document.documentElement;
  var form = document.querySelector(".filters");
  var items = Array.prototype.slice.call(document.querySelectorAll(".item"));
  var groups = Array.prototype.slice.call(document.querySelectorAll(".group"));
  var rows = items.map(function (el) {
    return { el: el, s: el.dataset.s, v: el.dataset.v, t: el.dataset.t.split("\n"), f: el.dataset.f, text: el.firstElementChild.textContent.toLowerCase() };
  });
  var all = $("shown").textContent;
  var FEW = 200;

  function filter() {
    var words = $("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    var s = $("f-status").value, v = $("f-severity").value, t = $("f-tool").value, f = $("f-path").value;
    var shown = 0;
    rows.forEach(function (row) {
      var fits = (!s || row.s === s) && (!v || row.v === v) && (!f || row.f === f) && (!t || row.t.indexOf(t) >= 0) &&
        words.every(function (word) { return row.text.indexOf(word) >= 0; });
      if (row.el.hidden === fits) { row.el.hidden = !fits; }
      shown += fits;
    });
    groups.forEach(function (group) { group.hidden = !group.querySelector(".item:not([hidden])"); });
    $("shown").textContent = shown === rows.length ? all : shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " shown";
  }

  var timer;
  form.hidden = false;
  form.addEventListener("input", function () { clearTimeout(timer); timer = setTimeout(filter, 60); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.addEventListener("reset", function () { setTimeout(filter, 0); });
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); $("f-text").focus(); }
  });
  $("open").addEventListener("click", function () {
    var visible = items.filter(function (el) { return !el.hidden; }).slice(0, FEW);
    var open = visible.some(function (el) { return !el.open; });
    visible.forEach(function (el) { el.open = open; });
    this.textContent = open ? "Close all" : "Open all";
  });

  function follow() {
    var el = location.hash && $(decodeURIComponent(location.hash.slice(1)));
    if (!el) { return; }
    if (el.classList.contains("item")) {
      if (el.hidden) { form.reset(); filter(); }
      el.open = true;
    }
    el.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  follow();
  window.addEventListener("beforeprint", function () { items.slice(0, FEW).forEach(function (el) { el.open = true; }); });

  var theme = $("theme");
  var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  function paint() { theme.textContent = dark ? "Light" : "Dark"; }
  theme.hidden = false;
  paint();
  theme.addEventListener("click", function () { dark = !dark; root.dataset.theme = dark ? "dark" : "light"; paint(); });
})();
