#!/usr/bin/perl
# A download behind a login, as applications have it: the first word of the path says how the file goes out, the second which file.
#
#   /x/NAME      X-Sendfile: the server sends it
#   /accel/NAME  X-Accel-Redirect: the same in nginx's words
#   /loop/NAME   this program reads and writes it, 4,096 bytes at a time
#   /empty/      nothing: what the way to this program and back costs
#   /page/       a page that may be kept for an hour, and /made/ the same for this visitor alone
#
# Each process serves one connection after the other on the socket that it is given as standard input.
use strict;
use warnings;
use FCGI;

my $directory = $ENV{DOWNLOADS} or die "DOWNLOADS is not set\n";
my $page = 'a page ' x 600;
my %environment;
my $request = FCGI::Request(\*STDIN, \*STDOUT, \*STDERR, \%environment);
while ($request->Accept() >= 0) {
    my ($how, $name) = ($environment{REQUEST_URI} // '') =~ m{^/(\w+)/(\w*)$} or do {
        print "Status: 404\r\n\r\n";
        next;
    };
    my $head = "Content-Type: application/octet-stream\r\n";
    if ($how eq 'x') {
        print $head, "X-Sendfile: $directory/$name\r\n\r\n";
    } elsif ($how eq 'accel') {
        print $head, "X-Accel-Redirect: /protected/$name\r\n\r\n";
    } elsif ($how eq 'loop') {
        open my $file, '<:raw', "$directory/$name" or die "$directory/$name: $!\n";
        print $head, 'Content-Length: ', -s $file, "\r\n\r\n";
        while (read $file, my $piece, 4096) {
            print $piece;
        }
        close $file;
    } elsif ($how eq 'page' or $how eq 'made') {
        my $control = $how eq 'page' ? 'max-age=3600' : 'private';
        print "Content-Type: text/html\r\nCache-Control: $control\r\nContent-Length: ", length $page, "\r\n\r\n", $page;
    } else {
        print $head, "Content-Length: 0\r\n\r\n";
    }
}
