#!/usr/bin/perl
# The search as a CGI program: one process for each request.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use CGI;
use Search;

binmode STDOUT;
print Search::answer(CGI->new);
