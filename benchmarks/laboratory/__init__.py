"""THE LABORATORY: webs and simulations that benchmarks and tests share.

`changing` serves pages that change at known rates, `forecast` simulates visits to such pages
without a network, `crowd` serves very many small hosts, `snares` and `families` serve crawler
traps beside honest sites that look like them, and `archived` reads an archive in the plainest way
there is.

A benchmark imports it as `laboratory`, because a script's own folder is on its path; the tests'
conftest puts `benchmarks` on theirs. Not for users: `gossamer.testing` is.
"""
