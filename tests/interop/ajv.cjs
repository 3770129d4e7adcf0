// ajv.cjs SCHEMA: for each line of standard input, a JSON value, one line of
// "true" or "false": whether Ajv takes it. The schema itself has to pass Ajv's
// strict mode.
const fs = require("fs");
const readline = require("readline");
const Ajv = require("ajv");

const schema = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const ajv = new Ajv({
  strict: true,
  // What a spec that stands alone is held to is said of fields that are defined
  // elsewhere, and of values that may be of other types.
  strictRequired: false,
  strictTypes: false,
  keywords: ["enumDescriptions"], // for editors
});
const validate = ajv.compile(schema);
readline
  .createInterface({ input: process.stdin })
  .on("line", (line) => console.log(String(validate(JSON.parse(line)))));
