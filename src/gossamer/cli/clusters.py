"""`gossamer cluster` and `shard`: machines that share crawls."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from gossamer.cli.options import Json
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import ClusterFacts, JoinedCluster

Home = Annotated[
    Path | None,
    option(
        "--home",
        metavar="DIR",
        help="Where this machine keeps certificates, shards and logs; $GOSSAMER_CLUSTER, or "
        "~/.local/state/gossamer/cluster unless given.",
        show_default=False,
    ),
]
Name = Annotated[
    str,
    option("--name", metavar="NAME", help="What this machine is called; its host name."),
]
Cores: TypeAlias = Annotated[
    int,
    option("--cores", metavar="N", min=0, help="How many shards may count on; all cores."),
]

Region: TypeAlias = Annotated[
    str,
    option(
        "--region",
        metavar="REGION",
        help="Near which hosts this machine is, such as eu: it crawls the hosts of that region.",
        show_default=False,
    ),
]


def up(
    *,
    listen: Annotated[
        str,
        option(
            "--listen",
            metavar="HOST[:PORT]",
            help="The address where this machine listens and others reach it; port 7420 unless "
            "given.",
        ),
    ] = "",
    name: Name = "",
    cores: Cores = 0,
    engine: Annotated[
        str,
        option(
            "--engine",
            metavar="ENGINE",
            help="What starts shards: processes of the nodes, or ray; as before, or processes.",
            show_default=False,
        ),
    ] = "",
    region: Region = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Make this machine the first of a cluster; print the line to type on the others."""
    import gossamer

    joined = gossamer.cluster_up(
        home, listen=listen, name=name, cores=cores, engine=engine, region=region
    )
    _tell_joined(joined, json=json)


def join(
    address: Annotated[str, argument(metavar="HOST:PORT", help="As `up` has printed it.")],
    *,
    token: Annotated[str, option("--token", metavar="TOKEN", help="As `up` has printed it.")],
    name: Name = "",
    cores: Cores = 0,
    listen: Annotated[
        str,
        option(
            "--listen",
            metavar="HOST",
            help="The address where shards of this machine listen and others reach it, if it has "
            "several.",
        ),
    ] = "",
    region: Region = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Make this machine a part of a cluster."""
    import gossamer

    joined = gossamer.cluster_join(
        address, token, home, name=name, cores=cores, host=listen, region=region
    )
    _tell_joined(joined, json=json)


def _tell_joined(joined: "JoinedCluster", *, json: bool) -> None:
    if json:
        print_json(as_json(joined))
        return
    show = out()
    line = f"{joined.name} is in the cluster of {joined.head} (process {joined.pid})"
    show.print(harmless(line), markup=False)
    show.print("on another machine:", markup=False)
    show.print(harmless(f"  {joined.join}"), markup=False, soft_wrap=True)
    show.print("then, on any of them:", markup=False)
    show.print(
        "  gossamer crawl https://example.org/ --cluster auto --store s3://BUCKET/CRAWL",
        markup=False,
        soft_wrap=True,
    )


def status(*, home: Home = None, json: Json = False) -> None:
    """Show the machines of this machine's cluster, and what runs on them."""
    import gossamer

    _tell_facts(gossamer.cluster_status(home), json=json)


def drain(
    node: Annotated[str, argument(metavar="NODE", help="The machine, by name.")],
    *,
    home: Home = None,
    json: Json = False,
) -> None:
    """Let a machine go: its shards move to the others, one after the other, and then it leaves."""
    import gossamer

    _tell_facts(gossamer.cluster_drain(node, home), json=json)


def split(
    store: Annotated[str, argument(metavar="URL", help="The crawl's store.")],
    *,
    shard: Annotated[
        int | None,
        option("--shard", metavar="N", min=0, help="Which shard; the largest.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Split a shard that grew too large in two, while the crawl runs; nothing is copied.

    Only that shard stands still meanwhile; the others start again a few at a time, to learn of
    it.
    """
    import gossamer

    told = gossamer.cluster_split(store, shard)
    if json:
        print_json(as_json(told))
        return
    line = f"shard {told.shard} is being split: half of its hosts will be shard {told.child}'s"
    out().print(harmless(f"{line}; `gossamer cluster status` shows it"), markup=False)


def down(*, home: Home = None, json: Json = False) -> None:
    """End the crawls of the cluster cleanly, as Ctrl-C does, and then the cluster."""
    import gossamer

    facts = gossamer.cluster_down(home)
    if json:
        print_json(as_json(facts))
        return
    line = f"the cluster of {facts.head} is down; `gossamer cluster up` there brings it back"
    out().print(harmless(line), markup=False)


def _tell_facts(facts: "ClusterFacts", *, json: bool) -> None:
    if json:
        print_json(as_json(facts))
        return
    show = out()
    machines = counted(len(facts.nodes), "machine")
    engine = f" on {facts.engine.capitalize()}" if facts.engine == "ray" else ""
    head = f" of {facts.head}" if facts.head else ""
    show.print(harmless(f"cluster{head}{engine}: {machines}"), markup=False)
    for node in facts.nodes:
        has = f"{counted(node.cores, 'core')}, {counted(node.shards, 'shard')}"
        goes = "; it gives its shards away and leaves" if node.is_draining else ""
        near = f"{node.region}  " if node.region else ""
        show.print(harmless(f"  {node.name}  {node.host}  {near}{has}{goes}"), markup=False)
    for crawl in facts.crawls:
        by = f" by {crawl.title}" if crawl.title else ""
        show.print(
            harmless(f"crawl {crawl.store}, coordinated{by} at {crawl.coordinator}"),
            markup=False,
        )
        for name, shards in crawl.nodes.items():
            if shards:
                numbers = ", ".join(map(str, shards))
                show.print(harmless(f"  {name}: shards {numbers}"), markup=False)
        for region, shards in crawl.regions.items():
            numbers = ", ".join(map(str, shards))
            name = f"region {region}" if region else "no region"
            show.print(harmless(f"  {name}: shards {numbers}"), markup=False)
        if crawl.splitting:
            shard, child = crawl.splitting
            step = f": {crawl.split_step}" if crawl.split_step else ""
            line = f"  shard {shard} is being split into {shard} and {child}{step}"
            show.print(harmless(line), markup=False)
    if facts.join:
        show.print("to join it:", markup=False)
        show.print(harmless(f"  {facts.join}"), markup=False, soft_wrap=True)


def yaml(
    seed: Annotated[list[str], argument(metavar="SEED...", help="URLs to start from.")],
    *,
    store: Annotated[
        str, option("--store", metavar="URL", help="The crawl's store, which all pods reach.")
    ],
    image: Annotated[
        str,
        option(
            "--image",
            metavar="IMAGE",
            help="Of a container with Gossamer, and Ray for --engine ray.",
        ),
    ],
    engine: Annotated[
        str,
        option(
            "--engine", metavar="ENGINE", help="What starts shards: ray (KubeRay), or processes."
        ),
    ] = "ray",
    nodes: Annotated[int, option("--nodes", metavar="N", min=1, help="How many pods crawl.")] = 3,
    cores: Annotated[int, option("--cores", metavar="N", min=1, help="Of each pod.")] = 4,
    memory: Annotated[
        str, option("--memory", metavar="AMOUNT", help="Of each pod, as Kubernetes writes it.")
    ] = "16Gi",
    flags: Annotated[
        str,
        option("--flags", metavar="WORDS", help="Of the crawl: '--max-pages 10k --delay 2'."),
    ] = "",
    name: Annotated[
        str, option("--name", metavar="NAME", help="What the objects are called.")
    ] = "gossamer",
    credentials: Annotated[
        str,
        option(
            "--credentials",
            metavar="SECRET",
            help="The Secret that has the variables by which the store is reached.",
        ),
    ] = "gossamer-store",
) -> None:
    """Print manifests of a crawl on Kubernetes: `gossamer cluster yaml ... | kubectl apply -f -`.

    A Secret in it has a private key that is new each time.
    """
    import gossamer

    said = gossamer.cluster_yaml(
        seed,
        store=store,
        image=image,
        engine=engine,
        name=name,
        nodes=nodes,
        cores=cores,
        memory=memory,
        flags=flags,
        credentials=credentials,
    )
    out().print(said, markup=False, highlight=False, soft_wrap=True, end="")


def node(*, name: Name = "", home: Home = None, cores: Cores = 0) -> None:
    """Stand for this machine in the foreground; `up` and `join` start this, or a service does."""
    import gossamer
    from gossamer.log import set_up

    set_up(verbose=False)
    gossamer.cluster_node(home, cores, name)


def shard(
    *,
    store: Annotated[str, option("--store", metavar="URL", help="The crawl's store.")],
    number: Annotated[int, option("--number", metavar="N", min=0, help="Which shard.")],
    join: Annotated[
        str,
        option("--join", metavar="HOST:PORT", help="Where its coordinator is heard."),
    ],
    home: Home = None,
    node: Annotated[str, option("--node", metavar="NAME", help="The machine, by name.")] = "",
    process: Annotated[
        str, option("--process", metavar="ID", help="Of the start, by who asked for it.")
    ] = "",
) -> None:
    """Run one shard of a crawl on several machines: what their nodes start, or anything else.

    This machine has to have joined the cluster: its certificate is what lets it in.
    """
    import gossamer
    from gossamer.log import set_up

    set_up(verbose=False)
    gossamer.run_shard(store, number, join, home=home, node=node, process=process)
