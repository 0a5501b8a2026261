//! Style sheet of the HTML report.

pub(super) const CSS: &str = "\
body{font:16px/1.5 system-ui,sans-serif;color:#1c1c1c;max-width:1060px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.7rem;margin-bottom:.2rem}h2{margin-top:3rem;border-top:2px solid #ddd;padding-top:1rem}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #e4e4e4}
th{background:#f6f6f6}td.n{text-align:right;font-variant-numeric:tabular-nums}
.passed{color:#00703c;font-weight:600}.failed{color:#b3261e;font-weight:600}.disturbed{color:#8a5a00;font-weight:600}.notyet{color:#6a6a6a;font-weight:600}
.tag{display:inline-block;border-radius:.7rem;padding:0 .6rem;font-size:.8rem;background:#e9eef5;color:#23456b}
.tag.modelled,.tag.virtual{background:#fff1cc;color:#7a5200}
.warn{background:#fff6e0;border-left:4px solid #e0a100;padding:.4rem .8rem;margin:.6rem 0}
svg{max-width:100%;height:auto;border:1px solid #eee;margin:.4rem 0}
code{background:#f4f4f4;padding:.1rem .3rem;border-radius:.2rem;word-break:break-all}
details{margin:.6rem 0}summary{cursor:pointer}small{color:#555}
@media print{details{display:none}}";
