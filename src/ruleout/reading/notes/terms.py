"""The names of notes: programs, packages, settings and levels, heads of columns and keys, and words around them."""

from __future__ import annotations

import re

from ruleout.reading.notes.words import any_of, words_of

# -- names -------------------------------------------------------------------------------------------------------

PROGRAM = re.compile(
    r"(?:(?<=^)|(?<=[\s`(:;\"'$#>]))(?:(?:\S*/)?(?:(?:vllm|sglang|lmdeploy|mlc_llm|llama) serve|(?:docker"
    r"|podman) run(?= .*(?:vllm|sglang|text-generation|tensorrt|llama|lmdeploy))|transformers (?:serve"
    r"|chat)|aphrodite run)(?= [\w./~$'\"-]*)"
    r"|(?:\S*/)?(?:trtllm-serve|llama-(?:server|cli|bench)|text-generation-(?:launcher|server)|tritonserver"
    r"|ktransformers|lightllm)(?= (?:-{1,2}\w|serve |\S*[/$]))|(?:\S*/)?python[\d.]* -m (?:sglang|vllm"
    r"|lightllm|lmdeploy|aphrodite|tensorrt_llm)\S*)(?=\s|$)"
)
OTHER_PROGRAM = re.compile(
    r"^[^\w.~/]*(?:sudo )?(?:ruleout|nvidia-smi|rocm-smi|pip3?|uv|conda|apt\S*|git|curl|wget|cat|grep|tail|head|ls"
    r"|cd|free|top|htop|watch|kill|pkill|echo|docker (?:ps|logs|pull|stop)|kubectl|ps|cmake|make|py-spy"
    r"|(?:\S*/)?python[\d.]* (?!-m (?:sglang|vllm))\S+|\S*bench\S*|vllm bench|genai-perf|lm_eval|ray|rsync"
    r"|scp|ssh|dmesg|source|\S+\.py|\S+\.sh|history|tmux|-DGGML\S*)\b"
)
PACKAGES = (
    r"vllm|sglang|sgl[-_]kernel|transformers|torch|pytorch|flashinfer(?:-python)?|triton|tensorrt[-_]llm"
    r"|trt-?llm|lmdeploy|llama\.cpp|nccl|cuda|rocm|driver|aiter|xformers|flash[-_]attn|deep[-_]?gemm"
    r"|deep[-_]?ep|tgi|image|build"
    r"|commit|python|numpy|ray|nvshmem|cutlass|xgrammar|tokenizers|safetensors|accelerate|bitsandbytes"
    r"|kernel|pip|release|wheel|container|llama-server|text-generation-inference"
)
MINOR_PACKAGES = frozenset({"cuda", "driver", "python", "kernel", "pip", "release", "wheel", "container"})
FEATURES = (
    r"cuda[ -]?graphs?|graphs|prefix[ -]cach(?:e|ing)|radix[ -]cache|chunked[ -]prefill|overlap["
    r" -]schedul\w+|async[ -]scheduling|custom[ -]all[ -]?reduce|spec(?:ulative)?[ -]decod(?:e|ing)|torch\.?"
    r"[ -]?compile|flash[ -]?attention"
    r"|expert[ -]parallel(?:ism)?|dp[ -]attention|p2p|lora|mtp|eagle|kv[ -]offload(?:ing)?"
)
LEVELS = words_of(
    """
    auto none on off true false yes no triton flashinfer flashmla fa2 fa3 fa4 cutlass_mla torch_native aiter ray mp
    uni spawn fork eager outlines guidance llguidance xgrammar normal low_latency pytorch tensorrt turbomind naive
    half float float16 float32 bfloat16 fp16 bf16 fp8 int8 fcfs lpm priority dummy mistral hermes layer row paged
    flashdecoding deepep pplx sdpa fp8_e5m2 fp8_e4m3 awq gptq mxfp4 throughput latency default lru lfu random
    external_launcher q8_0 f16 disabled enabled max full piecewise math mem_efficient deep_gemm cutlass marlin
    auto-round standard slow legacy hybrid
    """
)
STOP_WORDS = words_of(
    """
    a about added after afterwards again all alone along already also always am an and another any anyway are as
    asks at back bad be because been before both broke broken but by came can cannot changed changes clean comes
    command could crash crashed crashes did didn didn't died dies do does doesn doesn't done down dropped dunno each
    either else enough ended error errors even every everything except fail failed fails fault fine finished first
    fixed fixes for forever froze from full gave get gets gibberish gives go goes gone good got had halves hang
    hangs happens has have he help helped helps here hung i if ima in instead into is isn it its just keeps killed
    last led less like loads made makes makes. me minutes more most much must my nan nans needs never no none. nope
    nor not nothing now of off. ok okay on. once one only oom or other otherwise our out over passed passes plus
    produced put raised ran rather really refused refuses removed reproduced result results run running runs same
    seems segfault segfaults set shows since so solved solves some starts still stopped such survived survives
    switched takes than that the them then there they this throws time timeout to today together too took tried
    tries turned twice unchanged until up us used using was wasn we went were what when where which while who will
    with without won worked works would wrong yes yet you doubles slows seg assert asserts nonsense garbage empty
    survive live lives boots und mit ohne oder war ist nicht noch wieder as. same. helped. either. did. works. is.
    was. too. crash. hang. also. alive capture capturing correct correctly dead during exits freezes frozen gpu
    """
)
UNITS = r"(?:%|percent|min\w*|h|hours?|hrs?|times|t/s|tok/s|days?)(?!\w)"
REMOVAL = re.compile(
    r"(?i)(?:\b(?:without|w/o|no|drop(?:ped|ping|s)?|remov(?:e|ed|ing|es)|(?:took|take|taking|leave|left"
    r"|leaving) (?:out|off|away)|minus|delet\w+|omit\w*|unset|ohne|less|lost|disabled?|not set|sans|sin)"
    r"|(?:^|\(\s?|\s(?![-\u2013] ))[-\u2013\u2212])"
    r"(?: (?:the|our|any|both|just|only|flag|flags|option|env|var|setting))*[ :]*[`'\"(]*$"
)
REMOVED = re.compile(
    r"(?i)^[`'\")*-]*\s*(?:=\s*)?(?:options? |flags? |settings? )?(?:(?:was |were |is |flag )?(?:removed"
    r"|dropped|taken (?:out|off)|away|left out|gone from|omitted|deleted|unset|off|absent)\b(?! by))"
)
ALTERNATIVE = re.compile(
    r"(?i)(?:\b|(?<=\())(?:instead of|rather than|not|(?<=\()(?:was|were)|unlike|than|(?:needs?|requires?"
    r"|wants?)|depends on|default(?: is)?|because of|thanks to|from|kept|keeping|still with|already had|as"
    r"|(?:put|went|go|set|switched|turned|back) back(?: to| at| in| on)?|back (?:to|at|in|on)|restored"
    r"|greater than) (?:the )?[`'\"(]*$"
)
"""What stands before a setting that is not what the trial set."""
RESTORED = re.compile(
    r"(?i)^[`'\")]*\s*(?:back (?:in|on|again)|(?:on|in) again|restored|re-?enabled|as (?:it was|before))"
)

# -- heads of columns and keys of records ------------------------------------------------------------------------

HEAD_OUTCOME = any_of(
    r"""
    results?  outcome  verdict  status  output  seen  saw  got  observ\w*  behaviou?r  effect
    (?:what )?(?:happened|happens|came out|i saw|we saw|it did|i got|we got)  ergebnis  what you get  answers?
    state  end(?:ed)?  finding  pass  works?  ok  result\w*  canary  reaction  conclusion  resultado  error\?
    """
)
HEAD_CHANGE = any_of(
    r"""
    changes?  changed  chang\w+ .*  diff\w*  delta  set(?:ting)?s?  flags?  args?  arguments?  extra \w+  options?
    knobs?  variants?  variation  tried  try  what(?: we| i)?(?: set| changed| tried| did)?  mod\w*  config\w*
    param\w*  env(?:ironment)?(?: vars?)?  experiment  test(?:ed)?  command  cmd  launch  run with  with  änderung
    action  measure  attempt  tweak  switch  under test  hypothesis  what is different
    """
)
HEAD_LABEL = re.compile(
    r"(?i)\W*(?:#|no\.?|nr\.?|n|id|run|try|trial|attempt|test|exp\w*|row|job ?id|step|index|tag|name|label"
    r"|case|ticket|item)?\W*"
)
HEAD_ASIDE = any_of(
    r"""
    notes?  remarks?  comments?  who  by  owner  tested by  engineer  date  day  when  time  t  elapsed  duration
    took  after  minutes?  min  how long.*  log.*  links?  tput  throughput  tokens? .*  .*tok/?s.*  ttft.*  area
    group  topic  tag  due  priority  host  node  wer  bemerkung  kommentar  details?  excerpt  speed  cost  latency
    runs  reason  why  lasted  evidence  started  ended  (?:\w+_)?(?:secs?|seconds|ms)  \w+_s  exit(?:[ _]?code)?  rc
    return code
    """
)
HEAD_VALUE = any_of(r"value  set to  to  level  new(?: value)?  now  with  wert  tried")
KEY_OUTCOME = any_of(
    r"""
    results?  outcome  verdict  status  seen  saw  got  observ\w*  effect  happened  ergebnis  what happened  output
    ended  reaction  came out  error  actual  res  out
    """
)
KEY_CHANGE = any_of(
    r"""
    set  chang\w*  diff  delta  settings?  flags?  args?  arguments?  extra(?: \w+)?  options?  knob  what  tried
    tests?  cmd  command  mod\w*  config\w*  env  variant  with  run  launch  start\w*  did  action  param\w*  value
    änderung
    """
)
KEY_PROBLEM = any_of(
    r"""
    symptoms?  problem  issue  error  failure  fails  fehler\w*  bug  failing  what fails  crash  target
    what happens  impact  the thing  looking for  chasing  expected
    """
)

DETECTS = re.compile(r"(?i)\W*(?:check|detector|probe)\s*[:=] ")
"""How the failure is looked for, which is no trial."""

REMEDY = re.compile(
    r"(?i)[\s\-*_#]*(?P<key>(?:refuted|confirmed|holds|applies|true|only|seen) (?:if|when|where)|mends it"
    r"|remed(?:y|ies)|fix(?:es)?|solutions?|says|looks for|means|meaning|causes?|caused by|symptoms?|workarounds?"
    r"|resolution)[*_]*\s*:"
)
"""What an entry says of a failure in general: its cause, its signs, its remedy."""

HARDWARE = re.compile(
    r"(?<![\w\-])(?:(?:\d+ ?[x×] ?|RTX ?|NVIDIA ?)?(?:[ABHLTV]\d{1,3}0[0SG]?|L4|T4|A10G?|GH?B?[23]00|MI\d{3}X?"
    r"|[345]0[6-9]0)(?:[ -]?(?:SXM\d?|NVL|PCIe|\d+ ?GB?))?)(?![\w\-])"
)
"""What a machine is told by: `2x A100 80GB`."""

WEAKLY_SAME = re.compile(
    r"(?i)\W*(?:again|still|neither|as before|as with|just as|likewise|wieder|like (?:before|in|the)|exactly as)\W*"
)
"""Words that alone say little of an outcome."""

DEFINES = re.compile(
    r"(?i)(?:\b(?P<what>symptom|error|failure|problem|bug|fault|cmd|command|base(?:line)?"
    r"|config)\s+(?-i:(?P<name>[A-Z][A-Z0-9]{0,7}))\s*(?:=|:|is\b)"
    r"|[\"'`](?P<word>[^\"'`]{2,20})[\"'`]\s*(?:below |here |above )?(?:always )?"
    r"(?:=|means|is when)\s*(?P<means>[^;,]{3,80}))"
)
"""What a note calls its problem and its command: `symptom S = …`, `"soup" means …`."""
SCALE = re.compile(
    r"(?i)\b(?P<word>good|ok|healthy|fine|correct|normal|reference|expected|bad|broken|wrong|garbage)\W{0,3}"
    r"(?:(?:=|is|means|around|:)\s*)?(?:anything |everything )?"
    r"(?:(?:~|below|under|above|over|about|around|ca\.?|approx\.?)\s*)?(?P<value>0?\.\d+)"
)
"""By which scores a note tells good from bad."""
GENERIC = words_of(
    """
    about after again answer answers because before being build command context crash describe driver engine error
    errors every fails fault first flags found from have hours image into just launch load long loads longer machine
    memory minutes model models more most nodes node only output outputs over prompt prompts process request
    requests response return returns runs running same second serve server serving several short some start started
    than that their them then there these they this time times token tokens under until user users version what when
    where which while with without worker workers would always never random randomly prefill decode batch bench
    traffic replay setup docker container update please does text looks like goes comes cuda graph graphs vllm
    sglang llama torch runtime mode idea symptom chat notes attempt versions total free small mixed environment
    exit exits exited code codes
    """
)
"""Words of a problem that tell nothing of it."""

HEAD_DESCRIBES = re.compile(
    r"(?i)\W*(?:meaning|description|describes|purpose|what (?:it|this) (?:is|does).*|what .* for|defaults?"
    r"|explanation|type|usage|help|allowed.*)\W*"
)
"""Heads of a manual's table."""
SAME_NOUN = re.compile(r"(?i)\bsame ([a-z]{4,})\b(?! (?:as|like))")
"""What comes again is the problem, by whichever name: `same babble`."""
PLAIN_NOUNS = words_of(
    """
    again args arguments behavior behaviour boat card cards case class client cluster code commit conditions config
    configuration data dataset deal demo driver effect engine failure flags flow gpus hardware host idea image input
    inputs issue kind launch length line load location logs
    machine method moment name nodes note number order pages part
    patch path pattern place point position problem rank ranks
    reason repro result results scale seed settings setup shape
    size spot stack stage state story string symptom task test tests thing things throughput traffic type value values
    version wall work workload seems story script wrong with crash hang error assert exception commands speed
    """
)
