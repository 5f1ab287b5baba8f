// Runs before the first paint, so the other theme never flashes. A separate file, because the content security policy allows no
// inline script.
(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    let chosen = null;
    try {
      chosen = localStorage.getItem('muster-theme');
    } catch {
      // storage is forbidden here: the theme of the system applies
    }
    root.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : dark.matches ? 'dark' : 'light';
  };
  dark.addEventListener('change', apply);
  apply();
})();
