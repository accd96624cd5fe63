"""The words of notes: what people call a failure, a success, a plan; what a server's command looks like.

Every table is data for the modules beside it, which hold no words of their own. English, with the common words of a few
other languages.
"""

from __future__ import annotations

import re


def any_of(table: str) -> re.Pattern[str]:
    """Any of a table's patterns, which stand two blanks apart, as whole words where they begin or end in letters.

    A line that ends in `|` goes on in the next.
    """
    begins: list[str] = []
    others: list[str] = []
    for part in re.split(r"\s{2,}", re.sub(r"\|\n\s*", "|", table.strip())):
        ends = r"(?!\w)" if re.search(r"[\w)\]?]$", part) else ""
        (begins if re.match(r"[\w(\[]", part) else others).append(f"(?:{part}){ends}")
    # One look back for all of them: most places of a text are inside of a word.
    parts = [rf"(?<![\w-])(?:{'|'.join(begins)})"] if begins else []
    return re.compile("|".join(parts + others), re.IGNORECASE)


def words_of(table: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(table.split())


# -- what fails --------------------------------------------------------------------------------------------------

SYMPTOMS = {
    "memory access": any_of(
        r"""
    illegal (?:memory|address)\w*(?: access)?  IMA  memory access (?:fault|violation)  out[- ]of[- ]bounds
    """
    ),
    "assert": any_of(r"assert(?:s|ed|ion|ions)?  device[- ]side"),
    "AssertionError": any_of(r"assertionerror"),
    "segfault": any_of(
        r"""
    seg(?:mentation )?-?faults?  segfaulted  segv  sigsegv  core dump(?:ed)?
    """
    ),
    "illegal instruction": any_of(r"illegal[- ]?instruction  cudaErrorIllegalInstruction  sigill"),
    "misaligned": any_of(r"misaligned(?: address)?"),
    "launch failure": any_of(r"(?:unspecified )?launch fail\w+  \w*execution_failed"),
    "exception": any_of(r"hardware exception  HSA_STATUS_\w+  the exception"),
    "capture": any_of(
        r"""
    capture(?:s)? (?:fail\w*|error|crash\w*)  stream is capturing  error during (?:graph )?capture
    fails? (?:in|during) (?:graph )?capture
    """
    ),
    "nccl": any_of(
        r"""
    nccl (?:error|watchdog|fail\w*)  rccl error  unhandled (?:cuda|system) error
    """
    ),
    "timeout": any_of(
        r"""
    time-?outs?(?! of)  timed[- ]out  times out(?! of)  watchdog(?! timeout (?:of|to))
    """
    ),
    "hang": any_of(
        r"""
    hang(?:s|ing)?  hung  stuck  fr[eo]ez\w*  froze(?:n)?  dead-?lock\w*  stall\w*  unresponsive
    stop(?:s|ped)? (?:answering|responding)  no more tokens  never (?:returns?|answers|comes back)
    (?:hängt|blockiert)
    """
    ),
    "garbage": any_of(
        r"""
    garb(?:age|led|les)  gibberish  !{3,}  (?P<r>[a-z])(?P=r){3,}  (?P<q>[@?$%&/\\])(?P=q){3,}  word salad  nonsense
    token soup  soup  (?:<unused\d+>)+  (?:<pad>)+  pads  mojibake  babbl\w+  drivel  gobbledygook  jibberish
    looping  salad  mush  mangled  rambl\w+  unreadable
        incoherent  wrong (?:answers?|output|tokens?|text|results?)
    corrupt\w*  scrambled  repet\w+  repeat(?:s|ing) (?:itself|the)  truncated json  truncated  (?:G|!)'s  rubbish
    junk  broken (?:output|text|json|answers?|tool calls)  kauderwelsch  trash
    """
    ),
    "empty": any_of(r"empty  no (?:output|content|text)  blank (?:output|answers?)"),
    "nan": any_of(r"nans?  infs?"),
    "noise": any_of(r"noise  accuracy (?:drops?|loss|collapses)"),
    "leak": any_of(r"(?:memory )?leak\w*"),
    "undefined symbol": any_of(r"undefined symbol  importerror  abi mismatch"),
    "memory": any_of(
        r"""
    o{1,3}om(?:s|ed|-?kill\w*)?  out[- ]of[- ](?:\w+ )?memory  outofmemory\w*  \w*OutOfDeviceMemory
    not enough (?:kv cache )?memory  ran out of (?:memory|vram)  no (?:available )?(?:memory|room)  no memory
    (?:failed|unable) to allocate  (?:does|do|did)(?:n'?t| not) fit  passt nicht(?: rein)?  too big
    KV cache (?:is needed|memory)  cudaMalloc failed
    """
    ),
    "shape": any_of(r"shape mismatch  size mismatch"),
}
"""Failures by what they are; a note's problem is one or a few of them, and any other is another failure."""

KIN = (
    frozenset({"timeout", "hang", "nccl"}),
    frozenset({"garbage", "nan", "noise"}),
    frozenset({"memory access", "segfault", "exception"}),
    frozenset({"garbage", "empty", "noise"}),
)
"""Failures that people call by each other's names."""
CRASHES = frozenset(
    {
        "memory access",
        "assert",
        "AssertionError",
        "segfault",
        "illegal instruction",
        "misaligned",
        "launch failure",
        "exception",
        "capture",
        "nccl",
        "undefined symbol",
        "leak",
        "memory",
        "shape",
        "named",
    }
)
"""What is also called just a crash."""
CRASH = any_of(
    r"""
    crash(?:es|ed|ing|t)?  die[sd]  (?:will|to|does|did|always|still|workers?|pods?|ranks?|it|they|may|can) die
    die(?= (?:on|at|after|when|with|in|within)\b)  dying  dead  aborts  core dumped
    exit(?:s|ed)(?! (?:with )?(?:code )?0\b)(?: at| in| with)?
    kill(?:s|ed) (?:itself|by signal)  falls? over  fell over  blew up  blows up  boom  :boom:  💥  ☠  💀  kaputt
    abst\w*rz\w*  abgest\w*rzt  went down(?! to)  throws  gpu reset  goes down(?! to)  signal \d+  signal (?:9|11)
    process aborted  (?:rc|exit(?:s|ed)?(?: with)?(?: code)?)[ =]13[0-9]  crashed again  panics?  plante
    """
)
EXCEPTION = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception))\b|\bexception\b|\b(?:CUDA|HIP|NCCL|RCCL|cuBLAS) error\b")
FAILS = any_of(
    r"""
    fail(?:s|ed|ure|ures|ing)?  bad  broken  breaks  broke  wrong  error  errors  incorrect  ✗  ✘  ❌  ✖  🔴  👎  :x:
    \(x\)  ko  nok  comes? back  came back  persists?  remains  reproduce[sd]?  reproducible    fehler
    l[äa]uft nicht  geht nicht  happens  happened  (?<!thought i )(?:had|has|have) it(?! (?:running|back))
    came all the same  bug (?:is )?(?:there|present)  affected  problem (?:is )?there  occurs  shows up
    (?<!not )present  signature matches  échoue  plante  falla  mal
    """
)
"""Failing without saying how: as the note's problem does."""
SAME = any_of(
    r"""
    same  identical  as before  no (?:change|difference|effect|luck|help|improvement|joy|dice)  again  still
    chang(?:es|ed|ing) nothing  makes? no difference  made no difference  nothing changed  ditto
    (?:did|does|do)(?:n'?t| not) (?:help|change|matter|fix|solve|make a difference|cure)(?: (?:it|anything|
    a thing))?
    unchanged  without (?:any )?effect  no effect  unaffected  likewise  wieder  gleiche[rs]?  immer noch  as with
    just as  exactly as  not (?:related|it|the cause)  like (?:before|in|the)  neither  not fixed  no better
    useless  mismo  même  did nothing  does nothing  in vain  to no avail  help(?:s|ed)? (?:nothing|neither)
    """
)
GONE = any_of(
    r"""
    gone  disappear(?:s|ed)?  go(?:es)? away  went away  vanish(?:es|ed)?  (?:is |was )?(?:fixed|solved|cured)
    no more  (?:did|does)(?:n'?t| not) (?:occur|come|appear|happen|return|show)\w*  weg  stopped  avoided
    """
)

# -- what works --------------------------------------------------------------------------------------------------

WORKS = any_of(
    r"""
    (?:hours|h|min\w*|minutes|days?|requests|prompts),? (?:and )?nothing(?! (?:but|changed|new))
    (?:no|not a|zero) (?:single )?(?:incidents?|hiccups?|complaints?|repro\w*|recurrence)  rock[- ]solid  happy
    sound  like a charm  intact  as it should
    disappear(?:s|ed)?  vanish(?:es|ed)?
    (?:problem|bug|error|crash|hang|issue|it|that|symptom|garbage)(?: is| was|'s)? gone
    without (?:incident|a hitch)  uneventful  eliminate[sd]
    ok  okay  fine  good  great  works?  worked  working  pass(?:es|ed|ing)?  clean(?:ly)?
    succe(?:ss|eds|eded|ssful\w*)  healthy  stable  surviv(?:e|es|ed)  lives  alive  correct(?:ly)?  right
    normal(?:ly)?(?! (?:args|arguments|flags|command|settings|config\w*|load|traffic))
    readable  finite  sane  coherent  fix(?:es|ed)(?: (?:it|this|the \w+))?  solve[sd]?(?: it)?
    cure[sd]?  help(?:s|ed)  (?:go|goes|went|got|gets|comes|came|ran|runs|run|is) through  finish(?:es|ed)
    complete[sd]?  completes  serve[sd]  serving  boots  comes up(?: and \w+)?  starts(?:,| and)  all good
    no (?:more )?(?:issues?|problems?|trouble|complaints?|failures?|errors?|faults?)  healthy  perfect
    without (?:an?|any|one|a single) (?:problem|issue|error|hitch|incident|failure|fault)
    without (?:problems|issues|errors)
    all (?:\d[\d.,k]* )?(?:done|right|answered|passed|prompts|good|correct|came back|requests)
    all of the [\d,]+ came  ✅  ✓  ✔  ☑  👍  🎉  🟢  :white_check_mark:  :heavy_check_mark:  :tada:  :\+1:  \(/\)  \(y\)
    läuft  geht  lief  funktioniert  ohne fehler  marche  funciona  bien  green  answers  answered  as expected
    sauber  fehlerfrei  stabil  (?:rc|exit(?:s|ed)?(?: with)?(?: code)?)[ =]0(?![\d.])
    usable  (?:makes? it )?go(?:es)? away  went away  holds?  held  ran (?:its|to its|to the) \w+  to its end
    (?<!close )(?<!near )(?<!next )(?<!prior )to the end  no longer
    (?:ran|runs|run|up|soak\w*|lasted) (?:for )?(?:the )?(?:whole|full|entire|over ?night|all night|\d+ ?h\b)
    whole (?:hour|day|night|run|replay|afternoon)  nothing (?:bad|happened|wrong)  runs since  runs (?:fine|ok|well)
    finds the needle  returns? (?:every|normally|fine)  up and running  no fault  quiet  stay(?:s|ed) up
    up (?:since|for)  still up  solid  behaves  (?:matches|equals|identical to) the (?:reference|cpu|baseline|hf)
    bit-?exact  proper(?:ly)?  zero (?:errors?|failures?|crashes|hangs)  0 (?:errors|failures|crashes|hangs)
    startup complete  keeps (?:going|running)  all (?:ok|fine|green)  recovers  recovered  absent  smooth(?:ly)?
    no signs?
    """
)
NEGATED = re.compile(
    r"(?i)(?:\b(?:no|not|never|without|zero|none|neither|nor|nothing|nobody|kein\w*|ohne|nicht|free of|sin"
    r"|sans|pas|any)\b"
    r"|n't|\b0(?: of \d+| ?/ ?\d+)?|^-)[\s`'\":]*(?:(?:a|an|any|single|more|the|further|one|of|them|has"
    r"|have|had|been|be"
    r"|longer|sign|trace|new|such|really|ever|even|that|to|get|see|saw|seen|come|came|produce|give|another"
    r"|kind|so|very|too"
    r"|quite|much|all|in|\d[\d,.]*)[\s`'\"]+){0,4}[`'\"(]*$"
)
"""What stands before a word that is denied."""
INSTEAD = re.compile(
    r"(?i)(?:instead of|rather than|before (?:it |we |i )?(?:got|gets|get|came|reached)? ?(?:to|at)?|unlike"
    r"|like|not the)"
    r"(?: the| a| any)? *[`'\"]*$"
)

# -- what says something else ------------------------------------------------------------------------------------

REFUSED = any_of(
    r"""
    ne démarre pas  no arranca
    (?:does|do|did)(?:n'?t| not) support  no support  bails? out  bailed out  not allowed  needs to be
    conflicts? with  cannot be (?:used|combined)  not a valid
    (?:does|did|do|will|would|could|can|is|was)(?:n'?t| not|not) (?:(?:even|ever|at all|yet) )?(?:start|come up|
    load|boot|get (?:that far|up|past|ready|through|going)|launch|run (?:at all|here)|compile|build|serve|install|
    import|initiali[sz]e|go up)
    won'?t (?:even )?(?:start|load|come|boot|run|launch|compile|build)  cannot (?:start|load|be loaded|run)
    refuse[sd]?(?: to \w+)?
    never (?:even )?(?:started|got (?:to|past|up)|gets (?:to|past)|became ready|came up|comes up|loaded|
    finished loading)
    fail(?:s|ed)? to (?:start|load|init\w*|launch|build|import|boot|compile)  (?:un|not )recogni[sz]ed  not known
    (?:key|flag|option|argument|variable|parameter)s? (?:is |are )?(?:not known|unknown|gone)
    no such (?:option|flag|key|argument)  unknown (?:arg\w*|option|flag|key|parameter|model|env\w*|backend)
    invalid (?:arg\w*|choice|option|value|grammar|config\w*|backend)
    not (?:(?:yet|currently) )?(?:supported|available|valid|installed|found|implemented|compatible|built)
    unsupported  incompatible  reject(?:s|ed)  requires?
    needs (?:sm\w*|cc|compute|an?|at least|page|nvcc|all|gpu|cuda)\b[^.;]*  must be\b  wants
    (?:arg\w*|config\w*|usage|validation|parse|parser|import|build|ninja|nvcc|compile|pydantic|dependency|
    startup|init\w*) error
    can'?t (?:resolve|find|load|import|start)(?: it)?  cannot find  (?:gone|removed) in (?:this|that|the)
    that engine is gone  complains?(?: about)?  only supports?  (?:is|are) missing  mismatch  no kernel image
    no start  startet (?:erst gar )?nicht  startet nicht  asks? for  greater than
    larger than (?:the available|what fits)  placement group
    """
)
"""It came to nothing for a reason of its own."""
OTHERWISE = any_of(
    r"""
    (?:other|new) things  something new  broke (?:other|something|more|things)
    (?:a )?(?:different|another|other|unrelated|new|separate) (?:error|problem|failure|crash|issue|bug|assert\w*|
    exception|thing|story|reason|kind)
    (?:in )?another way  other (?:error|failure)  differently  (?<!for )something else  unrelated
    anderer (?:fehler|absturz)  not the same(?: thing| error| failure)?  different(?: one| this time)?
    but not (?:with )?(?:the|our|that)
    """
)
STARTING = any_of(
    r"""
    (?:at|on|during|in|before|while|when|at the) (?:the )?(?:very )?(?:start(?:[- ]?up|ing)?|boot(?:ing)?|init\w*|
    load(?:ing)?|import\w*|profil\w*|warm-?up|launch\w*|capture|argument|the weights)
    loading(?: the)? weights  weight load\w*  profile run  engine init\w*
    before (?:it was up|anything|serving|being served)  beim laden  beim start
    """
)
UNSURE = any_of(
    r"""
    inconclusive  (?:can'?t|cannot|can not|could(?:n'?t| not)) (?:really )?(?:say|tell|judge|conclude|know)
    no verdict  (?:don'?t know|dunno|no idea)(?! (?:which|whether|if|why|how|what|where|who|about the))
    no (?:conclusion|result|statement)
    (?:say|says|said|tells?|told|learn(?:ed|t)?|shows?|proves?)(?: (?:us|me))? (?:nothing|little)
    nothing (?:learn(?:ed|t)|said|proven)  (?:would|do|did|does|should)(?:n'?t| not) (?:really )?count\b[^.;]*
    not (?:be )?counted  (?:not an? |in)valid (?:test|run|result)  not a (?:valid|fair|real) (?:test|run)  unclear
    (?:may|might) or (?:may|might) not\b[^.;]*
    undecided  unresolved  meaningless  proves nothing  doubtful  not conclusive  either way  🤷  no opinion
    unentschieden  void  useless run  discard(?:ed)?  not usable  not (?:comparable|evaluated|assessed|meaningful)
    tainted  don't trust  worthless  no data
    """
)
STOPPED = any_of(
    r"""
    ctrl-?c(?:'?d)?  \^C  pulled the plug  timeboxed  (?:i|we) (?:stopped|killed|cancelled|canceled|interrupted) it
    had a meeting
    ^\W*running\W*$
    abort(?:ed|ing)?(?: by \w+)?  gave up  give up  cancel+ed  interrupted  stopped (?:it|early|before|at|after|by)
    stopped  reboot\w*  drained  pre-?empted  (?:lost|took) (?:the|my) (?:node|box|connection|server)
    ssh (?:dropped|died)  killed (?:it|by me|after)  still (?:going|running)  needed (?:for something|elsewhere|by)
    (?:ran )?out of time  no time left  cut short  node (?:was )?(?:taken|gone|lost|down)  switched off at
    had to (?:stop|leave|go)  \(\?\)  (?:did|had|has)(?:n'?t| not) finish(?:ed)?  unfinished
    cut (?:it|this|that) (?:off|short)  never finished  abgebrochen  evicted
    maintenance  power (?:cut|went|outage|failure)
    (?:have|has|need|needs) (?:to (?:be )?(?:redone?|repeated?|rerun)|a (?:rerun|second run))  reclaimed  wall ?time
    time limit  network (?:glitch|drop\w*|outage)  (?:spot|instance) (?:was )?(?:gone|lost|taken|terminated)
    (?:someone|somebody) (?:killed|rebooted|took|stopped|needed|else)
    (?:laptop|vpn|tunnel|tmux|session) (?:died|dropped|closed)  collided  i kill(?:ed)? it  disk (?:was )?full
    filled the disk
    """
)
NOT_RUN = any_of(
    r"""
    not (?:yet |been |even |really )*(?:tried|tested|run|done|started|checked|attempted|looked|measured|touched|
    reached)(?: yet)?
    untested  todo  to do  tbd  queued  pending  planned  will (?:do|try|test|run|check|be)(?: \w+)?
    to be (?:done|tested|run)  waiting (?:for|on)  waits for  still building  no time(?: yet)?  not yet
    never finished downloading
    (?:have|has|had|did)(?:n'?t| not) (?:\w+ ){0,2}(?:tried|tested|run|done|had|got|try|test|checked|get to|been)
    never (?:tried|tested|ran|began|got round|got to testing)  ⏳  do(?: it)? after  does it on \w+  noch offen
    nobody (?:has )?tried  ungetestet  not my turn  in progress  on my list
    ^\W*(?:next|open|offen|later|scheduled|to try)\W*$
    """
)
WEAKLY_NOT_RUN = any_of(r"skip(?:ped|s)?  tomorrow  tmrw  monday  maybe  download\w*  n/a")
YES = re.compile(r"(?i)\W*(?:yes|y|yep|yeah|ja|true|sí|oui|always|every time|x|1)\b\W*|\W*(?:✅|✔|✓)\W*")
NO = re.compile(r"(?i)\W*(?:no|n|nope|nein|false|non|never|0|none|❌|✗|✘)\b\W*|\W*(?:❌|✗|✘|[-\u2013\u2014])\W*")

# -- what is no trial --------------------------------------------------------------------------------------------

SUPPOSED = any_of(
    r"""
    (?:i|we|you|one|he|she|they|it|this|that|which|who|someone|somebody|and|
    \w+)?(?:'d| would| could| should| might| ought)(?! not (?:count|start|load|come|run|boot))(?!n't)(?= \w)
    (?:i|we)(?:'ll| will| shall)  will (?:be|try|do|run|test|check|build|need|redo|repeat|see)  going to  gonna
    (?:plan|plans|planning|want|wanted|wants|hope|hoping|like|ought) to  maybe  perhaps
    (?:we|let us|let's|please|can you|could you|did you|do you|does it|has anyone|anybody) (?:try|test|check|run|
    use|set|open|see)
    ^(?:(?:and|then|also|or|hm|ok|okay|so|well|yes|no),? )*(?:try|consider|check whether|find out|ask|look at|
    next(?! (?:was|came|up|(?:i|we) ))|todo|to do|plan|bisect|open an?|add an?|(?:do not|don't|
    never) (?:touch|use|set|raise|do|try|run|change|enable|skip|lower)|avoid|fix(?:es)?|upgrade|restart the|see|use|
    put (?=[`-])|make sure|remember)\b
    (?:i|we) (?:think|suspect|believe|bet|guess|assume|wonder|suppose|doubt)
    my (?:guess|theory|bet|hunch|suspicion) (?:is|would)  tomorrow  next week  i suggest
    (?:suggest|recommend|propos|advis)\w*  worth (?:a|trying)  (?:un)?likely  not (?:yet )?tried
    (?:have|has|had)(?:n'?t| not) (?:yet )?(?:tried|tested|run|had|been|looked|done|managed)
    is (?:said|known|supposed|required|recommended|needed)(?: to| for| or|$)
    or (?:else )?it (?:fails|crashes|breaks|hangs)  supposed to  the hint  we use  (?:costs?|halves) us
    if (?:you|we|someone|somebody|anybody|nothing|that)
    (?<!may or )may (?:\w+ )?(?:work|help|be|fix|show|play|have|matter)
    (?:i|we) (?:considered|thought (?:of|about))  did(?:n'?t| not) spend (?:a|the) run  ^\W*follow[- ]?ups?:
    what i(?:'d| would)  seem(?:s|ed) to (?:work|help)  remains to  on the list  still (?:open|to do)
    """
)
HEARSAY = any_of(
    r"""
    (?:someone|somebody|people|they|he|she|vendor|support|forum|docs?|documentation|readme|release notes|changelog|
    reddit|internet|colleagues?|(?-i:[A-Z][a-z]+)) (?:on the \w+ )?(?:says|said|claims?|claimed|mentioned|told|
    wrote|reports?|remembers?|thinks|recommends?|proposed|suggested|suspects)(?! (?:nothing|little))
    according to  i was told  was told  i (?:read|heard) that  in my experience
    (?:in|last) (?:january|february|march|april|may|june|july|august|september|october|november|december|spring|
    summer|autumn|winter|year)(?! \d)
    nobody has ever  a year ago  apparently  supposedly  (?:had|have) something like  fixed in main
    """
)
CONCLUDES = re.compile(
    r"(?i)^\W*(?:so\b(?! (?:i |we )?(?:ran|tried|far|with|without|then i|now))|=>|⇒|ergo|therefore|thus"
    r"|hence|conclusion|in short|tl;?dr|summary|overall|verdict:|workaround"
    r"|both|short version|long version|in short|below:|above:|reading:|means|meaning|to me|that smells"
    r"|smells|i'm rolling|decision|seems|looks like|it (?:is|was|seems|picks)|we take|i take|the (?:bug"
    r"|cause|reason|default)\b|note:|nb:|fyi|also\b$)"
)
PLAN_TITLE = re.compile(
    r"(?i)^\W*(?:[\d.]+\)?\s*|todo\s+|done\s+)?(?:(?:the |my |our |some |what |things? |still )*"
    r"(?:next(?:\b(?! .*(?:tried|ran|was)))|to-?do|ideas?\b(?! \d)|open\b|plans?\b|later|not (?:yet"
    r" )?(?:tried|done|tested|run|started|relevant|touched)|untested|untried|haven'?t|didn'?t try"
    r"|i (?:did not|didn't|have not|haven't|would|want|think|suspect|believe)|discussed|action items?"
    r"|questions?|suggest\w*|recommend\w*|do not|don'?t|never|noch offen|offen|nobody"
    r"|to (?:run|try|check|test|do|follow)|still (?:to|open)|follow[- ]?ups?|lessons|long[- ]?term"
    r"|mitigat\w*|test plan|test result|references|links|related|would|motivation|modifications|checklist$"
    r"|remaining|left\b|pending|planned|parked|wish ?list|someday|backlog|untersuch\w* offen|offene))"
)
CLOSING_TITLE = re.compile(
    r"(?i)^\W*(?:[\d.]+\)?\s*)?(?:my |our |the |preliminary |so far|current )*(?:conclusions?|summary"
    r"|tl;?dr|workarounds?|ruled out|root cause|analysis|interpretation|verdict|environment|system info|env"
    r"|versions?"
    r"|what i think|what went well|impact|background|context|resolution|decision|hypothesis|theory"
    r"|assessment|fazit|legend|glossary)\b[^:]{0,25}:?\W*$"
)
BASELINE = any_of(
    r"""
    deployed(?: \w+)?  as shipped
    base(?:line)?(?: (?:run|command|args|config\w*))?  none  nothing(?: changed| at all| added)?
    (?:un|not )(?:changed|modified|touched)  as[ -]is
    as (?:deployed|reported|documented|above|shipped|delivered|it (?:is|was)|in (?:prod\w*|staging|the \w+)|started|
    usual|given|before)
    defaults?  vanilla  stock  plain  control  original(?: \w+)?  no changes?  without (?:any )?changes
    same (?:args|arguments|command|flags|settings)  wie oben  like prod\w*
    (?:what|as) (?:\w+ ){0,2}(?:runs|customer runs)  prod(?:uction)?(?: (?:args|config|command|settings|flags))?
    reference  nichts  unverändert  usual command  normal start  see above  ran it again unchanged  reported
    """
)
LIMITED = any_of(
    r"""
    half  but  except  other  another  different
    with\b(?! (?:the|un\w+|same|no|original|all|its|a|any|our|stock|default|prod)\b)
    on (?:an?|the|\w*\d\w*)(?: \w+)? (?:box|node|machine|gpu|card)  without\b(?! (?:any )?changes)  smaller  bigger
    instead  fewer  on [A-Z]+\d+\w*
    """
)
"""Words that make of a baseline something that is not understood."""
