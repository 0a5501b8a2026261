# SPDX-License-Identifier: Apache-2.0
# How values are taken from the results of benchmarks, for the rows of bench/figures.rows. Numbers of results that call
# themselves disturbed have a dagger; a key or a result that is not there is an error that names it.

# A key of an object, also one within another: "path.p50_ns.median".
def need($key):
    . as $object | getpath($key | split("."))
    | if . == null then error("no key \($key) in \($object.name // "the results")") else . end;

# The result of this name, or of the name with so many sessions.
def results: [.results, .latency, .observed, .reports, .storms | arrays | .[]];
def result($name):
    first(results[] | select(.name == $name)) // error("no result \($name)");
def result($name; $sessions):
    first(results[] | select(.name == $name and .sessions == $sessions)) // error("no result \($name) with \($sessions) sessions");

# Digits as people read them: three that count, and commas in what is large.
def grouped: round | tostring | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",");
def rounded($by): (. * $by | round) / $by;
def fixed($digits):
    (pow(10; $digits) | round) as $by | (. * $by | round) as $n | ($n | fabs) as $n_abs
    | (if $n < 0 then "-" else "" end) + ($n_abs / $by | floor | grouped)
        + if $digits == 0 then "" else "." + ($n_abs % $by | tostring | ("0" * ($digits - length) // "") + .) end;
def digits: fabs as $n | if $n >= 100 then fixed(0) elif $n >= 10 then fixed(1) else fixed(2) end;
def signed: (if . >= 0 then "+" else "" end) + fixed(1);

def dagger: if any(.disturbed == true) then "†" else "" end;
# One number of a result.
def number($key): (need($key) | digits) + ([.] | dagger);
# The number of one result by that of another, and as text.
def ratio($of; $by; $key): ($of | need($key)) / ($by | need($key));
def times($of; $by; $key): (ratio($of; $by; $key) | fixed(2)) + ([$of, $by] | dagger);

# Uplink, downlink and mixed packets of such sessions on the path, and what is said of all three.
def ways: "ul", "dl", "mix";
def on_path($rules): [result("path/\(ways)/\($rules)")];
def all($key): map(number($key)) | join(", ");
def path($rules): on_path($rules) | "\(all("ns_median")) ns; ratio \(all("ratio_to_limit"))";
def beside($rules; $others):
    [on_path($rules), on_path($others)] | transpose | map(times(.[0]; .[1]; "ns_median")) | join(", ");


# The same over ports, of the N4 loop, and of bursts of heavy UEs.
def port($kind):
    [result("port/\($kind)/\(ways)")] | "\(all("ns.median")) ns; \(all("ratio_to_limit.median")) times the plain loop";
def message: "\(need("ns_median") / 1000 | fixed(2)) us\([.] | dagger), \(need("messages_per_s_median") | grouped)/s";
def levelled($which):
    need("levelled_in_time" + $which) as $in_time | need("not_levelled" + $which) as $not
    | if $in_time + $not == 0 then "no undisturbed burst"
      else "\($in_time) in time" + (if $in_time == 0 then "" else " (median \(need("levelled_ms\($which)_median") | fixed(1)) ms)" end)
          + ", \($not) not at all" end;
# Of undisturbed bursts, else of all.
def to_before:
    (if need("bursts") > need("bursts_disturbed") then ["", ""] else ["_all", "†"] end) as [$which, $dagger]
    | (["median", "min", "max"] | map("throughput_to_before\($which)_\(.)")) as [$median, $min, $max]
    | "\(need($median) | fixed(2))\($dagger) (\(need($min) | fixed(2)) to \(need($max) | fixed(2)))";
def bench_lines:
    [need("crates")[] | select(.name | IN("tools/bench", "tools/lab", "tools/testbed")) | .product_lines + .test_lines] | add;

# Judges a goal by all of some numbers.
def known: if any(. == null) then error("nothing undisturbed to judge by") else . end;
def at_most($goal; f): [f] | known | {reached: all(.[]; . <= $goal), is: (map(digits) | join(", "))};
def at_least($goal; f): [f] | known | {reached: all(.[]; . >= $goal), is: (map(digits) | join(", "))};
