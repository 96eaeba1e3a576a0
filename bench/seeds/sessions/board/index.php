<?php
// The first page is the list of the first board.
require __DIR__.'/list.php';
