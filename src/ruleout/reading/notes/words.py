"""The words of notes: what people call a failure, a success, a plan; what a server's command looks like.

Every table is data for the modules beside it, which hold no words of their own. English, with the common words of a few
other languages.
"""

from __future__ import annotations

import re


def any_of(*patterns: str) -> re.Pattern[str]:
    """Any of these, as whole words where they begin or end in letters."""
    parts = (
        (r"(?<![\w-])" if re.match(r"[\w(\[]", p) else "")
        + f"(?:{p})"
        + (r"(?!\w)" if re.search(r"[\w)\]?]$", p) else "")
        for p in patterns
    )
    return re.compile("|".join(parts), re.IGNORECASE)


# -- what fails --------------------------------------------------------------------------------------------------

SYMPTOMS = {
    "memory access": any_of(
        r"illegal (?:memory|address)\w*(?: access)?", "IMA", "memory access (?:fault|violation)", "out[- ]of[- ]bounds"
    ),
    "assert": any_of(r"assert(?:s|ed|ion|ions)?", r"assertionerror", r"device[- ]side"),
    "segfault": any_of(r"seg(?:mentation )?-?faults?", "segfaulted", "segv", "sigsegv", "core dump(?:ed)?"),
    "illegal instruction": any_of(r"illegal[- ]?instruction", "cudaErrorIllegalInstruction", "sigill"),
    "misaligned": any_of("misaligned(?: address)?"),
    "launch failure": any_of(r"(?:unspecified )?launch fail\w+", r"\w*execution_failed"),
    "exception": any_of(r"hardware exception", r"HSA_STATUS_\w+", "the exception"),
    "capture": any_of(
        r"capture(?:s)? (?:fail\w*|error|crash\w*)",
        "stream is capturing",
        r"error during (?:graph )?capture",
        "fails? (?:in|during) (?:graph )?capture",
    ),
    "nccl": any_of("nccl (?:error|watchdog|fail\\w*)", "rccl error", "unhandled (?:cuda|system) error"),
    "timeout": any_of(r"time-?outs?(?! of)", "timed[- ]out", "times out(?! of)", "watchdog(?! timeout (?:of|to))"),
    "hang": any_of(
        r"hang(?:s|ing)?",
        "hung",
        "stuck",
        r"fr[eo]ez\w*",
        "froze(?:n)?",
        r"dead-?lock\w*",
        r"stall\w*",
        "unresponsive",
        r"stop(?:s|ped)? (?:answering|responding)",
        "no more tokens",
        r"never (?:returns?|answers|comes back)",
        r"(?:hängt|blockiert)",
    ),
    "garbage": any_of(
        r"garb(?:age|led|les)",
        "gibberish",
        r"!{3,}",
        r"(?P<r>[a-z])(?P=r){3,}",
        r"(?P<q>[@?$%&/\\])(?P=q){3,}",
        "word salad",
        "nonsense",
        "token soup",
        "soup",
        r"(?:<unused\d+>)+",
        r"(?:<pad>)+",
        "pads",
        "mojibake",
        r"wrong (?:answers?|output|tokens?|text|results?)",
        r"corrupt\w*",
        r"scrambled",
        r"repet\w+",
        r"repeat(?:s|ing) (?:itself|the)",
        r"truncated json",
        "truncated",
        r"(?:G|!)'s",
        "rubbish",
        "junk",
        "broken (?:output|text|json|answers?|tool calls)",
        r"kauderwelsch",
        "trash",
    ),
    "empty": any_of(r"empty", "no (?:output|content|text)", "blank (?:output|answers?)"),
    "nan": any_of(r"nans?", r"infs?"),
    "noise": any_of("noise", r"accuracy (?:drops?|loss|collapses)"),
    "leak": any_of(r"(?:memory )?leak\w*"),
    "undefined symbol": any_of("undefined symbol", "importerror", "abi mismatch"),
    "memory": any_of(
        r"o{1,3}om(?:s|ed|-?kill\w*)?",
        r"out[- ]of[- ](?:\w+ )?memory",
        r"outofmemory\w*",
        r"\w*OutOfDeviceMemory",
        "not enough (?:kv cache )?memory",
        "ran out of (?:memory|vram)",
        "no (?:available )?(?:memory|room)",
        "no memory",
        r"(?:failed|unable) to allocate",
        r"(?:does|do|did)(?:n'?t| not) fit",
        r"passt nicht(?: rein)?",
        "too big",
        r"KV cache (?:is needed|memory)",
        "cudaMalloc failed",
    ),
    "shape": any_of("shape mismatch", "size mismatch"),
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
    {"memory access", "assert", "segfault", "illegal instruction", "misaligned", "launch failure", "exception", "capture",
     "nccl", "undefined symbol", "leak", "memory", "shape", "named"}
)  # fmt: skip
"""What is also called just a crash."""
CRASH = any_of(
    r"crash(?:es|ed|ing|t)?", r"die[sd]", r"(?:will|to|does|did|always|still|workers?|pods?|ranks?|it|they|may|can) die", r"die(?= (?:on|at|after|when|with|in|within)\b)", "dying", "dead", r"aborts", r"core dumped", r"exit(?:s|ed)(?: at| in| with)?",
    r"kill(?:s|ed) (?:itself|by signal)", "falls? over", "fell over", "blew up", "blows up", "boom", r":boom:", "💥",
    "☠", "💀", "kaputt", "abst\\w*rz\\w*", r"abgest\w*rzt", "went down(?! to)", r"throws", "gpu reset", "goes down(?! to)", "signal \\d+",
    "signal (?:9|11)", "process aborted", "crashed again", "panics?", "plante",
)  # fmt: skip
EXCEPTION = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception))\b|\bexception\b|\b(?:CUDA|HIP|NCCL|RCCL|cuBLAS) error\b")
FAILS = any_of(
    r"fail(?:s|ed|ure|ures|ing)?", "bad", "broken", "breaks", "broke", "wrong", "error", "errors", "incorrect",
    "✗", "✘", "❌", "✖", "🔴", "👎", r":x:", r"\(x\)", "ko", "nok", r"comes? back", r"came back", "persists?", "remains",
    r"reproduce[sd]?", r"reproducible", "repro", "fehler", r"l[äa]uft nicht", "geht nicht", r"happens", "happened",
    "(?<!thought i )(?:had|has|have) it(?! (?:running|back))", r"came all the same", "bug (?:is )?(?:there|present)", "affected", "problem (?:is )?there",
    "occurs", "shows up", "(?<!not )present", "signature matches", "échoue", "plante", "falla", "mal",
)  # fmt: skip
"""Failing without saying how: as the note's problem does."""
SAME = any_of(
    "same", "identical", "as before", "no (?:change|difference|effect|luck|help|improvement|joy|dice)", "again", "still",
    r"chang(?:es|ed|ing) nothing", r"makes? no difference", r"made no difference", "nothing changed", "ditto",
    r"(?:did|does|do)(?:n'?t| not) (?:help|change|matter|fix|solve|make a difference|cure)(?: (?:it|anything|a thing))?", r"unchanged",
    r"without (?:any )?effect", "no effect", "unaffected", "likewise", "wieder", r"gleiche[rs]?", "immer noch", "as with",
    "just as", "exactly as", "not (?:related|it|the cause)", "like (?:before|in|the)", "neither", "not fixed", "no better",
    "useless", "mismo", "même", "did nothing", "does nothing", "in vain", "to no avail", r"help(?:s|ed)? (?:nothing|neither)",
)  # fmt: skip
GONE = any_of(
    r"gone", "disappear(?:s|ed)?", r"go(?:es)? away", "went away", "vanish(?:es|ed)?", "(?:is |was )?(?:fixed|solved|cured)",
    "no more", r"(?:did|does)(?:n'?t| not) (?:occur|come|appear|happen|return|show)\w*", "weg", "stopped", "avoided",
)  # fmt: skip

# -- what works --------------------------------------------------------------------------------------------------

WORKS = any_of(
    "ok", "okay", "fine", "good", "great", r"works?", "worked", "working", r"pass(?:es|ed|ing)?", "clean(?:ly)?",
    r"succe(?:ss|eds|eded|ssful\w*)", "healthy", "stable", r"surviv(?:e|es|ed)", "lives", "alive", "correct(?:ly)?",
    "right", "normal(?:ly)?", "readable", "finite", "sane", "coherent", r"fix(?:es|ed)(?: (?:it|this|the \w+))?",
    r"solve[sd]?(?: it)?", r"cure[sd]?", r"help(?:s|ed)", r"(?:go|goes|went|got|gets|comes|came|ran|runs|run|is) through",
    r"finish(?:es|ed)", r"complete[sd]?", "completes", r"serve[sd]", r"serving", r"boots", r"comes up(?: and \w+)?", "starts(?:,| and)",
    "all good", "no (?:more )?(?:issues?|problems?|trouble|complaints?|failures?|errors?|faults?)", "healthy", "perfect",
    "without (?:an?|any|one|a single) (?:problem|issue|error|hitch|incident|failure|fault)", "without (?:problems|issues|errors)",
    r"all (?:\d[\d.,k]* )?(?:done|right|answered|passed|prompts|good|correct|came back|requests)", "all of the [\\d,]+ came",
    "✅", "✓", "✔", "☑", "👍", "🎉", "🟢", r":white_check_mark:", r":heavy_check_mark:", r":tada:", r":\+1:", r"\(/\)", r"\(y\)",
    r"läuft", "geht", "lief", "funktioniert", "ohne fehler", "marche", "funciona", "bien", "green", "answers", "answered",
    r"as expected", "usable", r"(?:makes? it )?go(?:es)? away", "went away",  "holds?", "held", "ran (?:its|to its|to the) \\w+", r"to its end", "to the end", "no longer",
    r"(?:ran|runs|run|up|soak\w*|lasted) (?:for )?(?:the )?(?:whole|full|entire|over ?night|all night|\d+ ?h\b)",
    r"whole (?:hour|day|night|run|replay|afternoon)", "nothing (?:bad|happened|wrong)", "runs since", "runs (?:fine|ok|well)",
    "finds the needle", "returns? (?:every|normally|fine)", "up and running", "no fault",
    "quiet", "stay(?:s|ed) up", "up (?:since|for)", "still up", "solid", "behaves", "(?:matches|equals|identical to) the (?:reference|cpu|baseline|hf)", "bit-?exact", "proper(?:ly)?", "zero (?:errors?|failures?|crashes|hangs)", "0 (?:errors|failures|crashes|hangs)",
    "startup complete", "keeps (?:going|running)", "all (?:ok|fine|green)", "recovers", "recovered", "absent", "smooth(?:ly)?", "no signs?",
)  # fmt: skip
NEGATED = re.compile(
    r"(?i)(?:\b(?:no|not|never|without|zero|none|neither|nor|nothing|nobody|kein\w*|ohne|nicht|free of|sin|sans|pas|any)\b"
    r"|n't|\b0(?: of \d+| ?/ ?\d+)?|^-)[\s`'\":]*(?:(?:a|an|any|single|more|the|further|one|of|them|has|have|had|been|be"
    r"|longer|sign|trace|new|such|really|ever|even|that|to|get|see|saw|seen|come|came|produce|give|another|kind|so|very|too"
    r"|quite|much|all|in|\d[\d,.]*)[\s`'\"]+){0,4}[`'\"(]*$"
)
"""What stands before a word that is denied."""
INSTEAD = re.compile(r"(?i)(?:instead of|rather than|before (?:it |we |i )?(?:got|gets|get|came|reached)? ?(?:to|at)?|unlike|like|not the)"
                     r"(?: the| a| any)? *[`'\"]*$")  # fmt: skip

# -- what says something else ------------------------------------------------------------------------------------

REFUSED = any_of(
    r"(?:does|did|do|will|would|could|can|is|was)(?:n'?t| not|not) (?:(?:even|ever|at all|yet) )?(?:start|come up|load|boot"
    r"|get (?:that far|up|past|ready|through|going)|launch|run (?:at all|here)|compile|build|serve|install|import|initiali[sz]e|go up)",
    r"won'?t (?:even )?(?:start|load|come|boot|run|launch|compile|build)", "cannot (?:start|load|be loaded|run)",
    r"refuse[sd]?(?: to \w+)?", r"never (?:even )?(?:started|got (?:to|past|up)|gets (?:to|past)|became ready|came up|comes up|loaded|finished loading)",
    r"fail(?:s|ed)? to (?:start|load|init\w*|launch|build|import|boot|compile)", r"(?:un|not )recogni[sz]ed", "not known",
    r"(?:key|flag|option|argument|variable|parameter)s? (?:is |are )?(?:not known|unknown|gone)", r"no such (?:option|flag|key|argument)",
    r"unknown (?:arg\w*|option|flag|key|parameter|model|env\w*|backend)", r"invalid (?:arg\w*|choice|option|value|grammar|config\w*|backend)",
    r"not (?:(?:yet|currently) )?(?:supported|available|valid|installed|found|implemented|compatible|built)", r"unsupported", "incompatible",
    r"reject(?:s|ed)", r"requires?", r"needs (?:sm\w*|cc|compute|an?|at least|page|nvcc|all|gpu|cuda)\b[^.;]*", r"must be\b", "wants",
    r"(?:arg\w*|config\w*|usage|validation|parse|parser|import|build|ninja|nvcc|compile|pydantic|dependency|startup) error",
    r"can'?t (?:resolve|find|load|import|start)(?: it)?", "cannot find", r"(?:gone|removed) in (?:this|that|the)", "that engine is gone",
    r"complains?(?: about)?", r"only supports?", r"(?:is|are) missing", "mismatch", "no kernel image", "no start", "startet (?:erst gar )?nicht",
    r"startet nicht", r"asks? for", r"greater than", "larger than (?:the available|what fits)", "placement group",
)  # fmt: skip
"""It came to nothing for a reason of its own."""
OTHERWISE = any_of(
    r"(?:a )?(?:different|another|other|unrelated|new|separate) (?:error|problem|failure|crash|issue|bug|assert\w*|exception|thing|story|reason|kind)",
    r"(?:in )?another way", "other (?:error|failure)", "differently", r"(?<!for )something else", "unrelated", r"anderer (?:fehler|absturz)",
    "not the same(?: thing| error| failure)?", "different(?: one| this time)?", "but not (?:with )?(?:the|our|that)",
)  # fmt: skip
STARTING = any_of(
    r"(?:at|on|during|in|before|while|when|at the) (?:the )?(?:very )?(?:start(?:[- ]?up|ing)?|boot(?:ing)?|init\w*|load(?:ing)?|import\w*|profil\w*"
    r"|warm-?up|launch\w*|capture|argument|the weights)", "loading(?: the)? weights", "weight load\\w*", "profile run",
    r"engine init\w*", "before (?:it was up|anything|serving|being served)", "beim laden", "beim start",
)  # fmt: skip
UNSURE = any_of(
    "inconclusive", r"(?:can'?t|cannot|can not|could(?:n'?t| not)) (?:really )?(?:say|tell|judge|conclude|know)", "no verdict", "(?:don'?t know|dunno|no idea)(?! (?:which|whether|if|why|how|what|where|who|about the))",
    "no (?:conclusion|result|statement)", r"(?:say|says|said|tells?|told|learn(?:ed|t)?|shows?|proves?)(?: (?:us|me))? (?:nothing|little)",
    r"nothing (?:learn(?:ed|t)|said|proven)", r"(?:would|do|did|does|should)(?:n'?t| not) (?:really )?count\b[^.;]*", "not (?:be )?counted",
    r"(?:not an? |in)valid (?:test|run|result)", "not a (?:valid|fair|real) (?:test|run)", "unclear", "undecided", "unresolved", "meaningless",
    r"proves nothing", "doubtful", "not conclusive", "either way", "🤷", r"no opinion", "unentschieden", "void", "useless run", "discard(?:ed)?",
    "not usable", "not (?:comparable|evaluated|assessed|meaningful)", "tainted", "don't trust", "worthless", "no data",
)  # fmt: skip
STOPPED = any_of(
    r"abort(?:ed|ing)?(?: by \w+)?", r"gave up", "give up", r"cancel+ed", "interrupted", r"stopped (?:it|early|before|at|after|by)", "stopped",
    r"reboot\w*", r"drained", r"pre-?empted", r"(?:lost|took) (?:the|my) (?:node|box|connection|server)", "ssh (?:dropped|died)", "killed (?:it|by me|after)",
    r"still (?:going|running)", r"needed (?:for something|elsewhere|by)", r"(?:ran )?out of time", "no time left", "cut short", "node (?:was )?(?:taken|gone|lost|down)",
    r"switched off at", "had to (?:stop|leave|go)", r"\(\?\)", "did(?:n'?t| not) finish", "unfinished", "never finished", "abgebrochen", "evicted",
    r"maintenance", "power (?:cut|went|outage|failure)", "(?:have|has|need|needs) (?:to (?:be )?(?:redone?|repeated?|rerun)|a (?:rerun|second run))", "reclaimed", "wall ?time", "time limit", "network (?:glitch|drop\\w*|outage)", "(?:spot|instance) (?:was )?(?:gone|lost|taken|terminated)", "(?:someone|somebody) (?:killed|rebooted|took|stopped|needed|else)", "(?:laptop|vpn|tunnel|tmux|session) (?:died|dropped|closed)", "collided", "i kill(?:ed)? it", "disk (?:was )?full", "filled the disk",
)  # fmt: skip
NOT_RUN = any_of(
    r"not (?:yet |been |even |really )*(?:tried|tested|run|done|started|checked|attempted|looked|measured|touched|reached)(?: yet)?", "untested", "todo", "to do", "tbd", "queued", "pending",
    "planned", r"will (?:do|try|test|run|check|be)(?: \w+)?", "to be (?:done|tested|run)", r"waiting (?:for|on)", "waits for", "still building", "no time(?: yet)?",
    "not yet", "never finished downloading", r"(?:have|has|had|did)(?:n'?t| not) (?:\w+ ){0,2}(?:tried|tested|run|done|had|got|try|test|checked|get to|been)", "never (?:tried|tested|ran|got round|got to testing)", "⏳",
    r"do(?: it)? after", r"does it on \w+", "noch offen", r"nobody (?:has )?tried", r"ungetestet", "not my turn",
    "in progress", "on my list", r"^\W*(?:next|open|offen|later|scheduled|to try)\W*$",
)  # fmt: skip
WEAKLY_NOT_RUN = any_of(r"skip(?:ped|s)?", r"tomorrow", r"tmrw", "monday", "maybe", r"download\w*", "n/a")
YES = re.compile(r"(?i)\W*(?:yes|y|yep|yeah|ja|true|sí|oui|always|every time|x|1)\b\W*|\W*(?:✅|✔|✓)\W*")
NO = re.compile(r"(?i)\W*(?:no|n|nope|nein|false|non|never|0|none|❌|✗|✘)\b\W*|\W*(?:❌|✗|✘|[-\u2013\u2014])\W*")

# -- what is no trial --------------------------------------------------------------------------------------------

SUPPOSED = any_of(
    r"(?:i|we|you|one|he|she|they|it|this|that|which|who|someone|somebody|and|\w+)?(?:'d| would| could| should| might| ought)(?! not (?:count|start|load|come|run|boot))(?!n't)(?= \w)",
    r"(?:i|we)(?:'ll| will| shall)", r"will (?:be|try|do|run|test|check|build|need|redo|repeat|see)", "going to", r"gonna", r"(?:plan|plans|planning|want|wanted|wants|hope|hoping|like|ought) to",
    r"maybe", "perhaps", r"(?:we|let us|let's|please|can you|could you|did you|do you|does it|has anyone|anybody) (?:try|test|check|run|use|set|open|see)",
    r"^(?:(?:and|then|also|or|hm|ok|okay|so|well|yes|no),? )*(?:try|consider|check whether|find out|ask|look at|next(?! (?:was|came|up|i (?:ran|tried|set|put|took)))|todo|to do|plan|bisect|open an?|add an?|(?:do not|don't|never) (?:touch|use|set|raise|do|try|run|change|enable|skip|lower)|avoid|fix(?:es)?|upgrade|restart the|see|use|put (?=[`-])|make sure|remember)\b",
    r"(?:i|we) (?:think|suspect|believe|bet|guess|assume|wonder|suppose|doubt)", "my (?:guess|theory|bet|hunch|suspicion) (?:is|would)", "tomorrow", "next week", "i suggest",
    r"(?:suggest|recommend|propos|advis)\w*", r"worth (?:a|trying)", "(?:un)?likely", r"not (?:yet )?tried", r"(?:have|has|had)(?:n'?t| not) (?:yet )?(?:tried|tested|run|had|been|looked|done|managed)",
    r"is (?:said|known|supposed|required|recommended|needed)(?: to| for| or|$)", r"or (?:else )?it (?:fails|crashes|breaks|hangs)", "supposed to", "the hint", "we use", r"(?:costs?|halves) us", "if (?:you|we|someone|somebody|anybody|nothing|that)",
    r"may (?:\w+ )?(?:work|help|be|fix|show|play|have|matter)", r"what i(?:'d| would)", "seem(?:s|ed) to (?:work|help)", "remains to", "on the list", "still (?:open|to do)",
)  # fmt: skip
HEARSAY = any_of(
    r"(?:someone|somebody|people|they|he|she|vendor|support|forum|docs?|documentation|readme|release notes|changelog|reddit|internet|colleagues?|(?-i:[A-Z][a-z]+)) (?:on the \w+ )?(?:says|said|claims?|claimed|mentioned|told|wrote|reports?|remembers?|thinks|recommends?|proposed|suggested|suspects)(?! (?:nothing|little))",
    r"according to", "i was told", "was told", r"i (?:read|heard) that", "in my experience", r"(?:in|last) (?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter|year)(?! \d)",
    "nobody has ever", "a year ago", "apparently", "supposedly", "(?:had|have) something like", r"fixed in main",
)  # fmt: skip
CONCLUDES = re.compile(
    r"(?i)^\W*(?:so\b(?! (?:i |we )?(?:ran|tried|far|with|without|then i|now))|=>|⇒|ergo|therefore|thus|hence|conclusion|in short|tl;?dr|summary|overall|verdict:|workaround"
    r"|both|short version|long version|in short|below:|above:|reading:|means|meaning|to me|that smells|smells|i'm rolling|decision|seems|looks like|it (?:is|was|seems|picks)|we take|i take|the (?:bug|cause|reason|default)\b|note:|nb:|fyi|also\b$)"
)
PLAN_TITLE = re.compile(
    r"(?i)^\W*(?:[\d.]+\)?\s*|todo\s+|done\s+)?(?:(?:the |my |our |some |what |things? |still )*"
    r"(?:next(?:\b(?! .*(?:tried|ran|was)))|to-?do|ideas?\b(?! \d)|open\b|plans?\b|later|not (?:yet )?(?:tried|done|tested|run|started|relevant|touched)|untested|untried|haven'?t|didn'?t try"
    r"|i (?:did not|didn't|have not|haven't|would|want|think|suspect|believe)|discussed|action items?|questions?|suggest\w*|recommend\w*|do not|don'?t|never|noch offen|offen|nobody"
    r"|to (?:run|try|check|test|do|follow)|still (?:to|open)|follow[- ]?ups?|lessons|long[- ]?term|mitigat\w*|test plan|test result|references|links|related|would|motivation|modifications|checklist$"
    r"|remaining|left\b|pending|planned|parked|wish ?list|someday|backlog|untersuch\w* offen|offene))"
)
CLOSING_TITLE = re.compile(
    r"(?i)^\W*(?:[\d.]+\)?\s*)?(?:my |our |the |preliminary |so far|current )*(?:conclusions?|summary|tl;?dr|workarounds?|ruled out|root cause|analysis|interpretation|verdict|environment|system info|env|versions?"
    r"|what i think|what went well|impact|background|context|resolution|decision|hypothesis|theory|assessment|fazit|legend|glossary)\b[^:]{0,25}:?\W*$"
)
BASELINE = any_of(
    "base(?:line)?(?: (?:run|command|args|config\\w*))?", "none", "nothing(?: changed| at all| added)?", "(?:un|not )(?:changed|modified|touched)", "as[ -]is", r"as (?:deployed|reported|documented|above|shipped|delivered|it (?:is|was)|in (?:prod\w*|staging|the \w+)|started|usual|given|before)",
    "defaults?", "vanilla", "stock", "plain", "control", "original(?: \\w+)?", r"no changes?", "without (?:any )?changes", r"same (?:args|arguments|command|flags|settings)", r"wie oben", "like prod\\w*", r"(?:what|as) (?:\w+ ){0,2}(?:runs|customer runs)",
    "prod(?:uction)?(?: (?:args|config|command|settings|flags))?", "reference", "nichts", "unverändert", "usual command", "normal start", "see above", "ran it again unchanged", "reported",
)  # fmt: skip
LIMITED = any_of(
    "half", "but", "except", "other", "another", "different", r"with\b(?! (?:the|un\w+|same|no|original|all|its|a|any|our|stock|default|prod)\b)", r"on (?:an?|the|\w*\d\w*)(?: \w+)? (?:box|node|machine|gpu|card)", r"without\b(?! (?:any )?changes)", "smaller", "bigger", "instead", "fewer",
    "on [A-Z]+\\d+\\w*",
)  # fmt: skip
"""Words that make of a baseline something that is not understood."""

# -- names -------------------------------------------------------------------------------------------------------

PROGRAM = re.compile(
    r"(?:(?<=^)|(?<=[\s`(:;\"'$#>]))(?:(?:\S*/)?(?:(?:vllm|sglang|lmdeploy|mlc_llm|llama) serve|(?:docker|podman) run(?= .*(?:vllm|sglang|text-generation|tensorrt|llama|lmdeploy))|transformers (?:serve|chat)|aphrodite run)(?= [\w./~$'\"-]*)"
    r"|(?:\S*/)?(?:trtllm-serve|llama-(?:server|cli|bench)|text-generation-(?:launcher|server)|tritonserver|ktransformers|lightllm)(?= (?:-{1,2}\w|serve |\S*[/$]))|(?:\S*/)?python[\d.]* -m (?:sglang|vllm|lightllm|lmdeploy|aphrodite|tensorrt_llm)\S*)(?=\s|$)"
)
OTHER_PROGRAM = re.compile(
    r"^[^\w.~/]*(?:sudo )?(?:nvidia-smi|rocm-smi|pip3?|uv|conda|apt\S*|git|curl|wget|cat|grep|tail|head|ls|cd|free|top|htop|watch|kill|pkill|echo|docker (?:ps|logs|pull|stop)|kubectl|ps|cmake|make|py-spy"
    r"|(?:\S*/)?python[\d.]* (?!-m (?:sglang|vllm))\S+|\S*bench\S*|vllm bench|genai-perf|lm_eval|ray|rsync|scp|ssh|dmesg|source|\S+\.py|\S+\.sh|history|tmux|-DGGML\S*)\b"
)
PACKAGES = (
    r"vllm|sglang|sgl[-_]kernel|transformers|torch|pytorch|flashinfer(?:-python)?|triton|tensorrt[-_]llm|trt-?llm|lmdeploy|llama\.cpp|nccl|cuda|rocm|driver|aiter|xformers|flash[-_]attn|deep[-_]?gemm|deep[-_]?ep|tgi|image|build"
    r"|commit|python|numpy|ray|nvshmem|cutlass|xgrammar|tokenizers|safetensors|accelerate|bitsandbytes|kernel|pip|release|wheel|container|llama-server|text-generation-inference"
)
MINOR_PACKAGES = frozenset({"cuda", "driver", "python", "kernel", "pip", "release", "wheel", "container"})
FEATURES = (
    r"cuda[ -]?graphs?|graphs|prefix[ -]cach(?:e|ing)|radix[ -]cache|chunked[ -]prefill|overlap[ -]schedul\w+|async[ -]scheduling|custom[ -]all[ -]?reduce|spec(?:ulative)?[ -]decod(?:e|ing)|torch\.?[ -]?compile|flash[ -]?attention"
    r"|expert[ -]parallel(?:ism)?|dp[ -]attention|p2p|lora|mtp|eagle|kv[ -]offload(?:ing)?"
)
LEVELS = frozenset(
    ["auto", "none", "on", "off", "true", "false", "yes", "no", "triton", "flashinfer", "flashmla", "fa2", "fa3", "fa4", "cutlass_mla", "torch_native", "aiter", "ray", "mp", "uni", "spawn", "fork", "eager", "outlines", "guidance", "llguidance", "xgrammar", "normal", "low_latency", "pytorch", "tensorrt", "turbomind", "naive", "half", "float", "float16", "float32", "bfloat16", "fp16", "bf16", "fp8", "int8", "fcfs", "lpm", "priority", "dummy", "mistral", "hermes", "layer", "row", "paged", "flashdecoding", "deepep", "pplx", "sdpa", "fp8_e5m2", "fp8_e4m3", "awq", "gptq", "mxfp4", "throughput", "latency", "default", "lru", "lfu", "random", "external_launcher", "q8_0", "f16", "disabled", "enabled", "max", "full", "piecewise", "math", "mem_efficient", "deep_gemm", "cutlass", "marlin", "auto-round", "standard", "slow", "legacy", "hybrid"]
)
STOP_WORDS = frozenset(
    ["a", "about", "added", "after", "afterwards", "again", "all", "alone", "along", "already", "also", "always", "am", "an", "and", "another", "any", "anyway", "are", "as", "asks", "at", "back", "bad", "be", "because", "been", "before", "both", "broke", "broken", "but", "by", "came", "can", "cannot", "changed", "changes", "clean", "comes", "command", "could", "crash", "crashed", "crashes", "did", "didn", "didn't", "died", "dies", "do", "does", "doesn", "doesn't", "done", "down", "dropped", "dunno", "each", "either", "else", "enough", "ended", "error", "errors", "even", "every", "everything", "except", "fail", "failed", "fails", "fault", "fine", "finished", "first", "fixed", "fixes", "for", "forever", "froze", "from", "full", "gave", "get", "gets", "gibberish", "gives", "go", "goes", "gone", "good", "got", "had", "halves", "hang", "hangs", "happens", "has", "have", "he", "help", "helped", "helps", "here", "hung", "i", "if", "ima", "in", "instead", "into", "is", "isn", "it", "its", "just", "keeps", "killed", "last", "led", "less", "like", "loads", "made", "makes", "makes.", "me", "minutes", "more", "most", "much", "must", "my", "nan", "nans", "needs", "never", "no", "none.", "nope", "nor", "not", "nothing", "now", "of", "off.", "ok", "okay", "on.", "once", "one", "only", "oom", "or", "other", "otherwise", "our", "out", "over", "passed", "passes", "plus", "produced", "put", "raised", "ran", "rather", "really", "refused", "refuses", "removed", "reproduced", "result", "results", "run", "running", "runs", "same", "seems", "segfault", "segfaults", "set", "shows", "since", "so", "solved", "solves", "some", "starts", "still", "stopped", "such", "survived", "survives", "switched", "takes", "than", "that", "the", "them", "then", "there", "they", "this", "throws", "time", "timeout", "to", "today", "together", "too", "took", "tried", "tries", "turned", "twice", "unchanged", "until", "up", "us", "used", "using", "was", "wasn", "we", "went", "were", "what", "when", "where", "which", "while", "who", "will", "with", "without", "won", "worked", "works", "would", "wrong", "yes", "yet", "you", "instead", "doubles", "slows", "seg", "assert", "asserts", "nonsense", "garbage", "empty", "survive", "live", "lives", "boots", "und", "mit", "ohne", "oder", "war", "ist", "nicht", "noch", "wieder", "as.", "gave", "same.", "helped.", "either.", "did.", "works.", "is.", "was.", "too.", "crash.", "hang.", "also.", "alive", "capture", "capturing", "correct", "correctly", "dead", "during", "exits", "freezes", "frozen", "gpu"]
)
UNITS = r"(?:%|percent|min\w*|h|hours?|hrs?|times|t/s|tok/s|days?)(?!\w)"
REMOVAL = re.compile(
    r"(?i)(?:\b(?:without|w/o|no|drop(?:ped|ping|s)?|remov(?:e|ed|ing|es)|(?:took|take|taking|leave|left|leaving) (?:out|off|away)|minus|delet\w+|omit\w*|unset|ohne|less|lost|disabled?|not set|sans|sin)"
    r"|(?:^|[\s(])[-\u2013\u2212])(?: (?:the|our|any|both|just|only|flag|flags|option|env|var|setting))*[ :]*[`'\"(]*$"
)
REMOVED = re.compile(
    r"(?i)^[`'\")*-]*\s*(?:=\s*)?(?:options? |flags? |settings? )?(?:(?:was |were |is |flag )?(?:removed|dropped|taken (?:out|off)|left out|gone from|omitted|deleted|unset|off|absent)\b(?! by))"
)
ALTERNATIVE = re.compile(
    r"(?i)(?:\b|(?<=\())(?:instead of|rather than|not|(?<=\()(?:was|were)|unlike|than|(?:needs?|requires?|wants?)|depends on|default(?: is)?|because of|thanks to|from|kept|keeping|still with|already had|as"
    r"|(?:put|went|go|set|switched|turned|back) back(?: to| at| in| on)?|back (?:to|at|in|on)|restored|greater than) (?:the )?[`'\"(]*$"
)
"""What stands before a setting that is not what the trial set."""
RESTORED = re.compile(
    r"(?i)^[`'\")]*\s*(?:back (?:in|on|again)|(?:on|in) again|restored|re-?enabled|as (?:it was|before))"
)

# -- heads of columns and keys of records ------------------------------------------------------------------------

HEAD_OUTCOME = any_of(
    "results?", "outcome", "verdict", "status", "output", "seen", "saw", r"got", "observ\\w*", r"behaviou?r", "effect", r"(?:what )?(?:happened|happens|came out|i saw|we saw|it did|i got|we got)",
    r"ergebnis", "what you get", "answers?", "state", "end(?:ed)?", "finding", "pass", "works?", "ok", "result\\w*", "canary", "reaction", "conclusion", r"resultado", "error\\?",
)  # fmt: skip
HEAD_CHANGE = any_of(
    r"changes?", "changed", r"chang\w+ .*", "diff\\w*", "delta", "set(?:ting)?s?", "flags?", "args?", "arguments?", "extra \\w+", "options?", "knobs?", "variants?", "variation", "tried", "try", "what(?: we| i)?(?: set| changed| tried| did)?", "mod\\w*", "config\\w*",
    "param\\w*", "env(?:ironment)?(?: vars?)?", "experiment", "test(?:ed)?", "command", "cmd", "launch", "run with", "with", "änderung", "action", "measure", "attempt", "tweak", "switch", "under test", "hypothesis", "what is different",
)  # fmt: skip
HEAD_LABEL = re.compile(
    r"(?i)\W*(?:#|no\.?|nr\.?|n|id|run|try|trial|attempt|test|exp\w*|row|job ?id|step|index|tag|name|label|case|ticket|item)?\W*"
)
HEAD_ASIDE = any_of(
    "notes?", "remarks?", "comments?", "who", "by", "owner", "tested by", "engineer", "date", "day", "when", "time", "t", "elapsed", "duration", "took", "after", "minutes?", "min", "how long.*", "log.*", "links?", "tput", "throughput", "tokens? .*", r".*tok/?s.*",
    "ttft.*", "area", "group", "topic", "tag", "due", "priority", "host", "node", "wer", "bemerkung", "kommentar", "details?", "excerpt", "speed", "cost", "latency", "runs", "reason", "why", "lasted", "evidence", "started", "ended",
)  # fmt: skip
HEAD_NAME = any_of(
    "param\\w*",
    "settings?(?: changed)?",
    "keys?",
    "flags?",
    "variables?",
    "options?",
    "knobs?",
    "name",
    "what",
    "changed",
    "change",
    "args?",
    "env",
)
HEAD_VALUE = any_of("value", "set to", "to", "level", "new(?: value)?", "now", "with", "wert", "tried")
KEY_OUTCOME = any_of(
    "results?", "outcome", "verdict", "status", "seen", "saw", "got", "observ\\w*", "effect", "happened", "ergebnis", "what happened", "output", "ended", "reaction", "came out", "error", "actual", "res", "out",
)  # fmt: skip
KEY_CHANGE = any_of(
    "set", "chang\\w*", "diff", "delta", "settings?", "flags?", "args?", "arguments?", "extra(?: \\w+)?", "options?", "knob", "what", "tried", "tests?", "cmd", "command", "mod\\w*", "config\\w*", "env", "variant", "with", "run", "launch", "start\\w*", "did", "action", "param\\w*", "value", "änderung",
)  # fmt: skip
KEY_PROBLEM = any_of(
    "symptoms?",
    "problem",
    "issue",
    "error",
    "failure",
    "fails",
    "fehler\\w*",
    "bug",
    "failing",
    "what fails",
    "crash",
    "target",
    "what happens",
    "impact",
    "the thing",
    "looking for",
    "chasing",
    "expected",
)

WEAKLY_SAME = re.compile(
    r"(?i)\W*(?:again|still|neither|as before|as with|just as|likewise|wieder|like (?:before|in|the)|exactly as)\W*"
)
"""Words that alone say little of an outcome."""

DEFINES = re.compile(
    r"(?i)(?:\b(?P<what>symptom|error|failure|problem|bug|fault|cmd|command|base(?:line)?|config)\s+(?-i:(?P<name>[A-Z][A-Z0-9]{0,7}))\s*(?:=|:|is\b)|[\"'`](?P<word>[^\"'`]{2,20})[\"'`]\s*(?:=|means|is when)\s*(?P<means>[^;,]{3,80}))"
)
"""What a note calls its problem and its command: `symptom S = …`, `"soup" means …`."""
SCALE = re.compile(
    r"(?i)\b(?P<word>good|ok|healthy|fine|correct|normal|bad|broken|wrong|garbage)\W{0,3}(?:=|is|means|around|:)\s*(?:~|about|around|ca\.?|approx\.?)?\s*(?P<value>0?\.\d+)"
)
"""By which scores a note tells good from bad."""
GENERIC = frozenset(
    ["about", "after", "again", "answer", "answers", "because", "before", "being", "build", "command", "context", "crash", "describe", "driver", "engine", "error", "errors", "every", "fails", "fault", "first", "flags", "found", "from", "have", "hours", "image", "into", "just", "launch", "load", "long", "loads", "longer", "machine", "memory", "minutes", "model", "models", "more", "most", "nodes", "node", "only", "output", "outputs", "over", "prompt", "prompts", "process", "request", "requests", "response", "return", "returns", "runs", "running", "same", "second", "serve", "server", "serving", "several", "short", "some", "start", "started", "than", "that", "their", "them", "then", "there", "these", "they", "this", "time", "times", "token", "tokens", "under", "until", "user", "users", "version", "what", "when", "where", "which", "while", "with", "without", "worker", "workers", "would", "always", "never", "random", "randomly", "prefill", "decode", "batch", "bench", "every", "traffic", "replay", "setup", "with", "docker", "container", "update", "please", "does", "text", "looks", "like", "goes", "comes", "long", "cuda", "graph", "graphs", "vllm", "sglang", "llama", "torch", "runtime", "mode", "idea", "symptom", "chat", "notes", "attempt", "version", "versions", "total", "free", "small", "mixed", "environment"]
)
"""Words of a problem that tell nothing of it."""

HEAD_DESCRIBES = re.compile(r"(?i)\W*(?:meaning|description|describes|purpose|what (?:it|this) (?:is|does).*|what .* for|defaults?|explanation|type|usage|help|allowed.*)\W*")
"""Heads of a manual's table."""
