#!/usr/bin/perl
# A program of the kind that mod_fcgid runs: it answers one request after the other.
use strict;
use warnings;
use FCGI;
my $request = FCGI::Request();
my $count = 0;
while ($request->Accept() >= 0) {
    $count++;
    my $body = do { local $/; <STDIN> } // '';
    print STDERR "request $count\n" if $ENV{QUERY_STRING} eq 'log';
    if ($ENV{QUERY_STRING} eq 'local') {
        print "Location: /elsewhere\n\n";
    } elsif ($ENV{QUERY_STRING} =~ /^wait=(.+)/) {
        print "Content-Type: text/plain\nX-Process: $$\n\n";
        $request->Flush();
        select undef, undef, undef, 0.01 until -e $1;
        print "waited";
    } elsif ($ENV{QUERY_STRING} eq 'end') {
        print "Content-Type: text/plain\n\nlast words of $$";
        $request->Finish();
        exit 0;
    } else {
        print "Content-Type: text/plain\nX-Process: $$\nX-Count: $count\n\n";
        print "$ENV{REQUEST_METHOD} $ENV{REQUEST_URI} ", length $body, " [$ENV{SCRIPT_NAME}][$ENV{PATH_INFO}]";
    }
}
