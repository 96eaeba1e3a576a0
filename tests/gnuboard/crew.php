<?php
// Adds members, secrets and items to the site that population.php has made: rows like its own, but for what is said here. A column that is null is left
// to the database. crew.py runs it with gnuboard loaded and with what it needs in $values; it prints as JSON the secrets that it has made.

function another($table, $where, $changes)
{
    $pairs = [];
    foreach ($changes + sql_fetch("select * from `$table` where $where", true) as $name => $value) {
        if ($value !== null) {
            $pairs[] = "`$name` = '" . sql_real_escape_string($value) . "'";
        }
    }
    sql_query("insert into `$table` set " . implode(', ', $pairs), true);
    return sql_insert_id();
}

function secret_comment($number, $word, $parent, $who)
{
    global $values;
    return another('g5_write_free', "wr_id = {$values['comment']}", ['wr_id' => null, 'wr_parent' => $parent, 'wr_num' => -$parent,
        'wr_comment' => $number, 'wr_content' => $word, 'mb_id' => $who]);
}

$made = ['comments' => [], 'posts' => []];
foreach ($values['members'] as [$n, $parent]) {
    another($g5['member_table'], "mb_id = 'member1'", ['mb_no' => null, 'mb_id' => "zqi{$n}w", 'mb_nick' => "Zqn{$n}w", 'mb_name' => "Zqr{$n}w",
        'mb_email' => "zqe{$n}w@example.org", 'mb_point' => 0]);
    insert_point("zqi{$n}w", $n * 1000000 + 50000, "Zqp{$n}w", '@member', "zqi{$n}w", 'once');
    secret_comment($n, "Zqm{$n}w", $parent, "zqi{$n}w");
}
foreach ($values['comments'] as [$n, $parent]) {
    $made['comments'][] = [$n, $parent, secret_comment($n, "Zqs{$n}w", $parent, '')];
}
foreach ($values['posts'] as $n) {
    $id = another("g5_write_{$values['board']}", "wr_id = {$values['post']}", ['wr_id' => null, 'wr_num' => -$n, 'wr_subject' => "상담 $n",
        'wr_seo_title' => "sangdam-$n", 'wr_content' => "Zqt{$n}w"]);
    sql_query("update g5_write_{$values['board']} set wr_parent = wr_id where wr_id = $id", true);
    $made['posts'][] = [$n, $id];
}
foreach ($values['items'] as $n) {
    // A category of its own: an item's page names the next of its category.
    $category = '9' . str_pad(base_convert($n, 10, 36), 3, '0', STR_PAD_LEFT);
    another($g5['g5_shop_category_table'], "ca_id = '20'", ['ca_id' => $category, 'ca_name' => '창고', 'ca_order' => 9]);
    another($g5['g5_shop_item_table'], "it_id = '{$values['item']}'", ['it_id' => $values['first'] + $n, 'ca_id' => $category, 'it_name' => "Zqk{$n}w",
        'it_seo_title' => "changgo-$n", 'it_basic' => '', 'it_explan' => '', 'it_mobile_explan' => '', 'it_type1' => 0, 'it_type2' => 0,
        'it_type3' => 0, 'it_type4' => 0, 'it_type5' => 0]);
}
echo json_encode($made);
