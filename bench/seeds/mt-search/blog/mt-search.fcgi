#!/usr/bin/perl
# The same search as a FastCGI program: a process for many requests.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use CGI::Fast;
use Search;

binmode STDOUT;
# What belongs to the program stands in its own environment; CGI::Fast replaces %ENV by each request's.
my %own = map { $_ => $ENV{$_} } grep { /^SEARCH_/ } keys %ENV;
while (my $cgi = CGI::Fast->new) {
    local @ENV{keys %own} = values %own;
    print Search::answer($cgi);
}
