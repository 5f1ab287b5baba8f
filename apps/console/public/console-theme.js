// Before the first paint, so that nobody sees the other theme flash by. A file of its own: the content
// security policy allows no inline script.
(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    let chosen = null;
    try {
      chosen = localStorage.getItem('muster-theme');
    } catch {
      // storage is forbidden here: the system's choice it is
    }
    root.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : dark.matches ? 'dark' : 'light';
  };
  dark.addEventListener('change', apply);
  apply();
})();
