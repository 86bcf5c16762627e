// Rules for the browser's code and its tests. Types are `tsc`'s business (tsconfig.json).

import js from "@eslint/js";
import globals from "globals";

const MARKUP =
  "Build elements (core/dom.js) and set textContent: markup from strings is how hostile text becomes code.";

export default [
  { ignores: ["static/vendor/", ".venv*/", "var/", "build/"] },
  js.configs.recommended,
  {
    rules: {
      "array-callback-return": "error",
      curly: ["error", "multi-line"],
      "default-case-last": "error",
      eqeqeq: "error",
      "max-lines": ["error", 400],
      "no-eval": "error",
      "no-implicit-globals": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-shadow": "error",
      "no-throw-literal": "error",
      "no-unused-expressions": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: MARKUP },
        { property: "outerHTML", message: MARKUP },
        { property: "insertAdjacentHTML", message: MARKUP },
        { object: "document", property: "write", message: MARKUP },
      ],
    },
  },
  {
    files: ["static/js/**/*.js"],
    languageOptions: { globals: { ...globals.browser, Plotly: "readonly" } },
  },
  { files: ["static/js/core/theme_early.js"], languageOptions: { sourceType: "script" } },
  { files: ["tests/js/**/*.js"], languageOptions: { globals: globals.nodeBuiltin } },
];
