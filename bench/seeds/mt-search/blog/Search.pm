package Search;

# The work of a search by tag: what mt-search.cgi and mt-search.fcgi both do for each request.
#
# The entries are read anew each time, as a blog reads its database: nothing is kept between two requests, so the FastCGI
# program saves the start of Perl and the loading of modules and nothing else. The answer says nothing about caching: no
# Expires, no Last-Modified, no ETag, no Cache-Control. With SEARCH_EXPIRES in the environment it sends Expires: that is the
# line which people patched in.

use strict;
use warnings;
use POSIX qw(strftime);

my $PAGE = 20;
my $EXCERPT = 40;    # words

sub answer {
    my ($cgi) = @_;
    my $tag = lc($cgi->param('tag') // '');
    my $blog = $cgi->param('blog_id') // 1;
    my @found = sort { $b->{on} cmp $a->{on} || $a->{id} <=> $b->{id} } grep { matches($_, $tag, $blog) } entries();
    my $total = @found;
    splice @found, $PAGE if @found > $PAGE;
    my $body = page($cgi, $tag, $total, map { item($cgi, $tag, $_) } @found);
    my %expires = $ENV{SEARCH_EXPIRES} ? (-expires => $ENV{SEARCH_EXPIRES}) : ();
    return $cgi->header(-type => 'text/html', -charset => 'utf-8', -Content_length => length($body), %expires) . $body;
}

# A line an entry: id, blog, date, title, tags with commas between, text.
sub entries {
    my $file = $ENV{SEARCH_ENTRIES} or die "SEARCH_ENTRIES does not say where the entries are\n";
    open my $in, '<', $file or die "$file: $!\n";
    my @entries;
    while (my $line = <$in>) {
        chomp $line;
        my %entry;
        @entry{qw(id blog on title tags text)} = split /\t/, $line, 6;
        $entry{tags} = { map { lc($_) => 1 } split /,/, $entry{tags} };
        push @entries, \%entry;
    }
    close $in;
    return @entries;
}

sub matches {
    my ($entry, $tag, $blog) = @_;
    return $entry->{blog} == $blog && $entry->{tags}{$tag};
}

# Title, date and the words around the first place where the text has the tag, which is marked.
sub item {
    my ($cgi, $tag, $entry) = @_;
    my @words = split ' ', $entry->{text};
    my ($at) = grep { lc($words[$_]) =~ /^\Q$tag\E\W*$/ } 0 .. $#words;
    my $from = defined $at && $at > $EXCERPT / 2 ? $at - $EXCERPT / 2 : 0;
    my $to = $from + $EXCERPT - 1 < $#words ? $from + $EXCERPT - 1 : $#words;
    my $excerpt = $cgi->escapeHTML(join ' ', @words[$from .. $to]);
    $excerpt =~ s/\b(\Q$tag\E)\b/<mark>$1<\/mark>/gi if length $tag;
    my ($year, $month, $day) = split /-/, $entry->{on};
    my $date = strftime('%e %B %Y', 0, 0, 0, $day, $month - 1, $year - 1900);
    my $tags = join ', ', map { $cgi->escapeHTML($_) } sort keys %{ $entry->{tags} };
    my $title = $cgi->escapeHTML($entry->{title});
    return "<li><h2><a href=\"/entries/$entry->{id}.html\">$title</a></h2><p class=\"date\">$date</p><p>$excerpt</p><p>$tags</p></li>\n";
}

sub page {
    my ($cgi, $tag, $total, @items) = @_;
    my $shown = $cgi->escapeHTML($tag);
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Search: $shown</title></head>\n"
        . "<body><h1>$total entries about $shown</h1>\n<ol>\n" . join('', @items) . "</ol></body></html>\n";
}

1;
