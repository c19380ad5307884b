#!/usr/bin/env node
// Starts the program of this platform's package, with our arguments, terminal, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const { optionalDependencies, version } = require("../package.json");
const platform = `${process.platform}-${process.arch}`;
const name = `@omniglot/cli-${platform}`;

function fail(...lines) {
  console.error(`omniglot: ${lines.join("\n  ")}`);
  process.exit(1);
}

function find() {
  if (!(name in optionalDependencies)) {
    const known = Object.keys(optionalDependencies).map((other) => other.replace("@omniglot/cli-", ""));
    fail(`there is no package for ${platform}, only for: ${known.join(", ")}`);
  }
  try {
    return require.resolve(`${name}/bin/omniglot`);
  } catch {
    fail(
      `${name} is not installed, which has the program for this platform.`,
      "npm leaves it out when optional dependencies are switched off (--omit=optional, --no-optional),",
      "and when node_modules was made on another platform.",
      `Install it: npm install ${name}@${version}`,
    );
  }
}

const program = find();
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`${program} does not start: ${error.message}`));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to both of us; a second one would mean more.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});
