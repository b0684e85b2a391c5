from .api import Run as Run
from .api import Study as Study
from .api import compare as compare
from .api import doctor as doctor
from .api import ensemble as ensemble
from .api import finetune as finetune
from .api import linear as linear
from .api import load as load
from .api import prepare as prepare
from .api import pretrain as pretrain
from .api import report as report
from .config.options import Comparison as Comparison
from .config.options import Output as Output
from .config.options import Reading as Reading
from .config.options import Tables as Tables
from .config.options import TokenizerOptions as TokenizerOptions
from .config.options import Training as Training
from .config.recipe import Recipe as Recipe
from .config.recipe_files import load_recipe as load_recipe
from .data.corpus import Corpus as Corpus
from .data.tables import Example as Example
from .data.tokenizer import Tokenizer as Tokenizer
from .errors import GreffeError as GreffeError
from .evaluation.metrics import Evaluation as Evaluation
from .inference.fill import Filling as Filling
from .inference.predict import Prediction as Prediction

__version__: str
